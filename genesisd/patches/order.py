"""In which order patches are applied, and what falls when the base of a chain falls. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from genesisd.patches.model import Patch


@dataclass(frozen=True, slots=True)
class BrokenChain:
    """A base that is not applied, why, and every patch that stands on its output, however indirectly."""

    base: str
    why: str
    dependants: tuple[str, ...]


def before(patches: Sequence[Patch]) -> dict[str, frozenset[str]]:
    """For each patch those of ``patches`` that are applied before it."""
    known = {patch.id for patch in patches}
    return {patch.id: _declared(patch) & known for patch in patches}


def levels(patches: Sequence[Patch]) -> tuple[tuple[str, ...], ...]:
    """Ids in the order of application: within a level no order is declared, and ids are sorted.

    Raises:
        ValueError: there is a cycle, which a checked catalog has not.
    """
    sorter = TopologicalSorter(before(patches))
    try:
        sorter.prepare()
    except CycleError as error:
        raise ValueError("patches wait for one another: " + " -> ".join(error.args[1])) from None
    found = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready())
        sorter.done(*ready)
        found.append(tuple(ready))
    return tuple(found)


def cycle(patches: Sequence[Patch]) -> tuple[str, ...]:
    """Ids that wait for one another, the first one named last again, or nothing."""
    try:
        TopologicalSorter(before(patches)).prepare()
    except CycleError as error:
        return tuple(error.args[1])
    return ()


def broken_chains(patches: Sequence[Patch], fallen: Mapping[str, str]) -> tuple[BrokenChain, ...]:
    """The chains among ``patches`` whose base is in ``fallen`` (id to the reason), or is no patch at all."""
    named = {base for patch in patches for base in patch.bases()}
    known = {patch.id for patch in patches} - set(fallen)
    bases = {base: _standing_on(base, patches) for base in sorted(named - known)}
    # What fell only because its own base did is named as a dependant, not as a cause.
    followed = {name for dependants in bases.values() for name in dependants}
    return tuple(
        BrokenChain(base, fallen.get(base, "it is not among the patches"), dependants)
        for base, dependants in bases.items()
        if base not in followed
    )


def _standing_on(base: str, patches: Sequence[Patch]) -> tuple[str, ...]:
    found: set[str] = set()
    more = {base}
    while more:
        more = {patch.id for patch in patches if more.intersection(patch.bases())} - found
        found |= more
    return tuple(sorted(found))


def _declared(patch: Patch) -> frozenset[str]:
    return frozenset((*patch.bases(), *patch.follows, *patch.requires))
