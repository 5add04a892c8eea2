"""Which patches are to blame: from a set that fails to the largest part of it that was seen to pass. Pure.

The search is a generator that yields sets and is sent results; ``search`` plays it again from the results that are
known and returns the first set that is not among them. So a search outlives its daemon with the results alone.

1. The plain pin has to pass and the whole set to fail, or there is nothing to find.
2. Patches are added one after the other until the set fails: a binary search over that chain finds the patch with
   which it does. If it fails alone (with what it needs), it is found; else the search goes on among those before it
   with this one held, until those that are held fail by themselves.
3. Of the smallest failing set one patch is left out, with all that need it. If the rest fails still, there is
   another fault: begin again with the rest.
4. With several left out, each is put back once, since a later one may have been the whole reason.

A single patch at fault among ``n`` costs at most ``2 + ceil(log2(n)) + 2`` runs.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import replace

from genesisd.bisect.model import (
    Answer,
    Ask,
    Constraints,
    Culprit,
    Finding,
    Guilty,
    Inconclusive,
    NotReproduced,
    PinFails,
    Result,
)
from genesisd.bisect.sets import Field
from genesisd.bisect.smallest import smallest_failing

Steps = Generator[frozenset[str], Result, Finding]


def search(
    patches: Sequence[str],
    constraints: Constraints,
    known: Mapping[frozenset[str], Result],
    budget: int,
    weights: Mapping[str, int] | None = None,
) -> Answer:
    """The next set to run, or what came of it.

    Args:
        patches: the failing set, in order of application.
        constraints: what may stand together. Every set that is asked keeps to it.
        known: what runs have shown so far; the caller keeps it.
        budget: how many runs the search may take.
        weights: how much each patch is missed (0 when absent). Where one of several has to go, it is the lightest,
            counted with those that need it; then the one with which the fewest go; then the last in order.
    """
    steps = _steps(Field.of(patches, constraints), constraints, weights or {})
    used: dict[frozenset[str], Result] = {}
    try:
        asked = next(steps)
        while asked in known:
            used[asked] = known[asked]
            asked = steps.send(known[asked])
    except StopIteration as ended:
        finding: Finding = ended.value
        return finding
    return Ask(asked) if len(used) < budget else Inconclusive(_spent(used, budget))


def _steps(field: Field, constraints: Constraints, weights: Mapping[str, int]) -> Steps:
    for conflict in constraints.conflicts:
        if conflict <= field.whole:
            return Inconclusive(f"the set has a conflict in it ({', '.join(sorted(conflict))}), so it was never run")
    pin = yield field.floor
    if pin is not Result.PASSES:
        return PinFails() if pin is Result.FAILS else Inconclusive("the plain pin could not be asked")
    whole = yield field.whole
    if whole is not Result.FAILS:
        return NotReproduced() if whole is Result.PASSES else Inconclusive("the whole set could not be asked")
    return (yield from _culprits(field, weights))


def _culprits(field: Field, weights: Mapping[str, int]) -> Steps:
    """Leave out one after the other until the rest passes."""
    found: list[Culprit] = []
    rest = field.whole
    result = Result.FAILS
    while result is Result.FAILS:
        failing = yield from smallest_failing(field, rest)
        patch, result = yield from _left_out(field, failing, rest, weights)
        if patch is None:
            return Inconclusive(f"{_named(failing)} fails, but the rest without it could not be asked")
        found.append(Culprit(patch, failing - field.floor))
        rest -= field.falling(patch, rest)
    return (yield from _put_back(field, found))


def _left_out(
    field: Field, failing: frozenset[str], rest: frozenset[str], weights: Mapping[str, int]
) -> Generator[frozenset[str], Result, tuple[str | None, Result]]:
    """Which patch of ``failing`` to leave out, and what ``rest`` shows without it; None where it cannot be asked."""
    for patch in sorted(field.tops(failing), key=lambda name: _missed(name, field, rest, weights)):
        result = yield rest - field.falling(patch, rest)
        if result is not Result.BROKEN:
            return patch, result
    return None, Result.BROKEN


def _put_back(field: Field, found: list[Culprit]) -> Steps:
    """Let those be that need not be left out once the others are."""
    kept = list(found)
    for culprit in found[:-1]:
        others = [other for other in kept if other is not culprit]
        if (yield _without(field, others)) is Result.PASSES:
            kept = others
    rest = _without(field, kept)
    gone = field.whole - rest
    return Guilty(tuple(replace(one, falls=field.falling(one.patch, gone) - {one.patch}) for one in kept), rest)


def _without(field: Field, culprits: Sequence[Culprit]) -> frozenset[str]:
    return field.whole.difference(*(field.falling(one.patch, field.whole) for one in culprits))


def _missed(name: str, field: Field, within: frozenset[str], weights: Mapping[str, int]) -> tuple[int, int, int]:
    falling = field.falling(name, within)
    return sum(weights.get(one, 0) for one in falling), len(falling), -field.order.index(name)


def _spent(used: Mapping[frozenset[str], Result], budget: int) -> str:
    failing = [patches for patches, result in used.items() if result is Result.FAILS]
    smallest = f"; the smallest set that fails is {_named(min(failing, key=len))}" if failing else ""
    return f"the budget of {budget} runs is spent{smallest}"


def _named(patches: frozenset[str]) -> str:
    return ", ".join(sorted(patches))
