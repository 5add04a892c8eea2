"""Every patch against one tree, whatever switches it on: where the tree has drifted away from the catalog. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from packaging.version import Version

from genesisd.patches.lifecycle import Lifecycle
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Failed, Fault
from genesisd.patches.stack import plan_all
from genesisd.patches.survey import Texts
from genesisd.patches.verdicts import Verdict, sentence, verdict
from genesisd.versions import parse_range

OUT_OF_RANGE = "version"
"""The verdict on a patch whose range leaves the tree's version out; the gate has the same name."""
_SOUND = {Verdict.APPLIED, Verdict.ALREADY_APPLIED, Verdict.SUPERSEDED, Verdict.NOT_APPLICABLE, OUT_OF_RANGE}


@dataclass(frozen=True, slots=True)
class Check:
    """One patch on one tree.

    Attributes:
        patch: its id.
        verdict: a word of ``Verdict``, or ``version``.
        reason: what was found.
        expected: the verdict that its case tells for this release, or None.
        sound: whether this is as it should be.
    """

    patch: str
    verdict: str
    reason: str
    expected: str | None
    sound: bool


def preflight(
    patches: Sequence[Patch],
    needed: Callable[[Patch], Sequence[Patch]],
    texts: Texts,
    version: Version,
    expected: Mapping[str, str] | None = None,
) -> tuple[Check, ...]:
    """The verdict on each of ``patches``, each with those alone that it ``needed``."""
    found = []
    for patch in patches:
        if patch.lifecycle in {Lifecycle.RETIRED, Lifecycle.TOMBSTONE}:
            continue
        word, reason = _judged(patch, needed, texts, version)
        wanted = (expected or {}).get(patch.id)
        found.append(Check(patch.id, word, reason, wanted, word == wanted if wanted else word in _SOUND))
    return tuple(found)


def _judged(
    patch: Patch, needed: Callable[[Patch], Sequence[Patch]], texts: Texts, version: Version
) -> tuple[str, str]:
    if not parse_range(patch.versions).contains(version):
        return OUT_OF_RANGE, f"for {patch.versions}, not for {version}"
    outcome = plan_all(texts, needed(patch)).outcomes[patch.id]
    return verdict(outcome), sentence(outcome)


def clashes(patches: Sequence[Patch], texts: Texts) -> dict[str, str]:
    """Patches that apply alone and not together, though nothing declares that they conflict: id to what was found."""
    outcomes = plan_all(texts, patches).outcomes
    return {
        name: outcome.detail
        for name, outcome in outcomes.items()
        if isinstance(outcome, Failed) and outcome.fault is Fault.OVERLAP
    }


def applied(checks: Sequence[Check]) -> frozenset[str]:
    """Ids of those that are applied."""
    return frozenset(check.patch for check in checks if check.verdict == Verdict.APPLIED)
