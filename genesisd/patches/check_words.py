"""What a patch says about itself, and must: reasons, kinds, ranges, parameters. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from genesisd.patches.lifecycle import WITH_EDITS, Implementation, Lifecycle, Origin, RetiredBecause
from genesisd.patches.model import Patch
from genesisd.patches.parameters import expected, fits
from genesisd.patches.problems import Problem, ProblemKind
from genesisd.versions import parse_range, parse_version


def word_problems(patch: Patch) -> Iterator[Problem]:
    """Mistakes in what ``patch`` says, its edits aside."""
    yield from _lifecycle(patch)
    yield from _implementation(patch)
    yield from _versions(patch)
    yield from _parameters(patch)


def _lifecycle(patch: Patch) -> Iterator[Problem]:
    stable = patch.lifecycle is Lifecycle.STABLE
    if stable != (patch.stable_kind is not None):
        text = "stable: say what it was proven by (stable_kind)" if stable else "stable_kind is for stable patches"
        yield Problem(ProblemKind.STABLE_KIND, patch.id, text)
    if stable and patch.origin is Origin.BACKPORT and patch.study is None:
        text = "a stable backport: say what upstream does, what ours does, which tests came along (study)"
        yield Problem(ProblemKind.STUDY, patch.id, text)
    retired = patch.lifecycle is Lifecycle.RETIRED
    if retired != (patch.retirement is not None):
        text = "retired: say why (retirement)" if retired else f"it has a retirement, and is {patch.lifecycle}"
        yield Problem(ProblemKind.RETIREMENT, patch.id, text)
    because = patch.retirement
    if because and because.because is RetiredBecause.SUPERSEDED and because.replaced_by is None:
        yield Problem(ProblemKind.RETIREMENT, patch.id, "superseded: say by which patch (replaced_by)")


def _implementation(patch: Patch) -> Iterator[Problem]:
    coordinates = patch.implementation is Implementation.COORDINATOR
    if coordinates != bool(patch.parts):
        text = "a coordinator names its parts" if coordinates else "only a coordinator has parts"
        yield Problem(ProblemKind.PARTS, patch.id, text)
    if coordinates and patch.flag is None:
        yield Problem(ProblemKind.PARTS, patch.id, "a coordinator is a flag, and this one has none")
    alive = patch.lifecycle not in {Lifecycle.RETIRED, Lifecycle.TOMBSTONE}
    if patch.implementation in WITH_EDITS and alive and not patch.edits:
        yield Problem(ProblemKind.NO_EDITS, patch.id, f"{patch.implementation}, and without edits")
    if patch.implementation is Implementation.SPEC_ONLY and not patch.reason:
        yield Problem(ProblemKind.NO_EDITS, patch.id, "spec_only: give the reason")
    if patch.implementation not in WITH_EDITS and patch.edits:
        yield Problem(ProblemKind.NO_EDITS, patch.id, f"{patch.implementation}, and it has edits")


def _versions(patch: Patch) -> Iterator[Problem]:
    try:
        parse_range(patch.versions)
    except ValueError as error:
        yield Problem(ProblemKind.BAD_RANGE, patch.id, f"versions: {error}")
    for alias in patch.flag.aliases if patch.flag else ():
        try:
            parse_version(alias.expires or "0")
        except ValueError as error:
            yield Problem(ProblemKind.BAD_RANGE, patch.id, f"{alias.name} expires: {error}")


def _parameters(patch: Patch) -> Iterator[Problem]:
    for parameter in patch.parameters:
        low, high = parameter.low, parameter.high
        if low is not None and high is not None and low > high:
            yield Problem(ProblemKind.BAD_PARAMETER, patch.id, f"{parameter.name}: {low:g} is above {high:g}")
        elif parameter.default is not None and not fits(parameter, parameter.default):
            text = f"{parameter.name}: the default {parameter.default!r} is not {expected(parameter)}"
            yield Problem(ProblemKind.BAD_PARAMETER, patch.id, text)
    for name, count in Counter(parameter.name for parameter in patch.parameters).items():
        if count > 1:
            yield Problem(ProblemKind.BAD_PARAMETER, patch.id, f"{name} is declared {count} times")
