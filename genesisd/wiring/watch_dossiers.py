"""Dossiers for decisions that ask to give a patch up: made once, kept, and made anew where somebody asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from genesisd.errors import UnavailableError
from genesisd.watch.decisions import DecisionKind, Dossier, KeptDecision, Standing
from genesisd.watch.model import Known, Pin, PinFacts
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


def missing(decision: KeptDecision, dossiers: Sequence[Dossier], facts: Iterable[PinFacts] = ()) -> tuple[str, ...]:
    """What a retire candidate speaks of and no dossier lies before: ``P1 on p32``, a patch and pin each.

    A dossier of another pin tells nothing of this one's files, and one of other files of the same name even less.
    """
    asked = decision.decision
    now = {one.pin: one.of for one in facts}
    made = {(one.patch, one.pin) for one in dossiers if one.ref == asked.ref and now.get(one.pin, one.of) == one.of}
    lacking = [(patch, pin) for patch in asked.patches for pin in asked.pins if (patch, pin) not in made]
    return tuple(f"{patch} on {pin}" for patch, pin in lacking)


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
        now = {one.id: one.identity for one in pins}
        kept_ = await self._decisions.dossiers()
        made = {(one.patch, one.ref, one.pin) for one in kept_ if now.get(one.pin, one.of) == one.of}
        troubles = []
        for patch, ref, pin in wanted(kept):
            if (patch, ref, pin) in made:
                continue
            try:
                await self.make(patch, ref, pin, known, pins, whole=True)
            except UnavailableError as error:
                troubles.append(f"no dossier of {patch} against {ref} on {pin}: {error.message}")
        return tuple(troubles)

    async def make(
        self,
        patch: str,
        ref: Ref,
        pin: str,
        known: Mapping[Ref, Known],
        pins: Sequence[Pin],
        *,
        whole: bool = False,
    ) -> Dossier:
        """One, now, and keep it. ``whole``: not without upstream's diff, for what is made once stays.

        Raises UnavailableError where upstream never answered, the pin has no files here, or the diff lacks.
        """
        pull = known[ref].pull if ref in known else None
        place = next((one for one in pins if one.id == pin and one.tree), None)
        if pull is None:
            raise UnavailableError(f"upstream never answered about {ref}", hint="genesisctl watch sweep --now asks it")
        if place is None:
            raise UnavailableError(f"pin {pin} has no files in the cache", hint=f"genesisctl pins build {pin}")
        diff = await self._upstream.diff(pull)
        if diff is None and whole:
            hint = f"genesisctl watch diff {ref} makes one without it"
            raise UnavailableError("upstream's diff could not be had", hint=hint)
        others = [one for one in pins if one.id != pin and one.tree]
        found = await self._appraiser.dossier(patch, pull, diff, place, others)
        dossier = replace(found, of=place.identity)
        await self._decisions.keep_dossier(dossier)
        return dossier
