"""Dossiers for decisions that ask to give a patch up: made once, kept, and made anew where somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from genesisd.errors import UnavailableError
from genesisd.watch.decisions import DecisionKind, Dossier, KeptDecision, Standing
from genesisd.watch.model import Known, Pin
from genesisd.watch.ports import Appraiser, Decisions, Upstream
from genesisd.watch.refs import Ref


def wanted(kept: Iterable[KeptDecision]) -> list[tuple[str, Ref, str]]:
    """Patch, pull request and pin of each retire candidate that is open."""
    found = [
        (patch, one.decision.ref, pin)
        for one in kept
        if one.standing is Standing.OPEN and one.decision.kind is DecisionKind.RETIRE_CANDIDATE
        for patch in one.decision.patches
        for pin in one.decision.pins
    ]
    return list(dict.fromkeys(found))


def missing(decision: KeptDecision, dossiers: Sequence[Dossier]) -> tuple[str, ...]:
    """Patches of a retire candidate that no dossier lies before."""
    made = {one.patch for one in dossiers if one.ref == decision.decision.ref}
    return tuple(patch for patch in decision.decision.patches if patch not in made)


class DossierMaker:
    """Has them made, one after another."""

    def __init__(self, upstream: Upstream, appraiser: Appraiser, decisions: Decisions) -> None:
        self._upstream = upstream
        self._appraiser = appraiser
        self._decisions = decisions

    async def ensure(
        self, kept: Iterable[KeptDecision], known: Mapping[Ref, Known], pins: Sequence[Pin]
    ) -> tuple[str, ...]:
        """Make those that are missing; returns what could not be made, a sentence each."""
        made = {(one.patch, one.ref, one.pin) for one in await self._decisions.dossiers()}
        troubles = []
        for patch, ref, pin in wanted(kept):
            if (patch, ref, pin) in made:
                continue
            try:
                await self.make(patch, ref, pin, known, pins)
            except UnavailableError as error:
                troubles.append(f"no dossier of {patch} against {ref} on {pin}: {error.message}")
        return tuple(troubles)

    async def make(self, patch: str, ref: Ref, pin: str, known: Mapping[Ref, Known], pins: Sequence[Pin]) -> Dossier:
        """One, now, and keep it. Raises UnavailableError where upstream never answered or the pin has no files here."""
        pull = known[ref].pull if ref in known else None
        place = next((one for one in pins if one.id == pin and one.tree), None)
        if pull is None:
            raise UnavailableError(f"upstream never answered about {ref}", hint="genesisctl watch sweep --now asks it")
        if place is None:
            raise UnavailableError(f"pin {pin} has no files in the cache", hint=f"genesisctl pins build {pin}")
        dossier = await self._appraiser.dossier(patch, pull, await self._upstream.diff(pull), place)
        await self._decisions.keep_dossier(dossier)
        return dossier
