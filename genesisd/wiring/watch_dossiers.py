"""Dossiers for decisions that ask to give a patch up: which of those that are kept still show something, and a new one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from genesisd.errors import UnavailableError
from genesisd.watch.decisions import Dossier, KeptDecision
from genesisd.watch.model import Known, Pin, PinFacts
from genesisd.watch.ports import Appraiser, Decisions, Patches, Upstream
from genesisd.watch.refs import Ref


def holds(one: Dossier, facts: Iterable[PinFacts], patches: Patches) -> bool:
    """Whether a dossier shows what is compared now; ``facts`` are those of its pull request.

    One of other files tells nothing of these, whatever they are called; nor does one of a diff that was pushed anew, or
    of edits that are other ones since. One that an earlier version made without keeping what of counts for nothing.
    """
    fact = next((fact for fact in facts if fact.pin == one.pin), None)
    same = fact is None or (fact.of, fact.head) == (one.of, one.head)
    return same and bool(one.of and one.ours) and one.ours == patches.text_of(one.patch)


def is_whole(one: Dossier, pins: Iterable[Pin]) -> bool:
    """Whether no test of it was left out for want of an environment that is there by now.

    One that does not tell on which pin an environment lacked is taken to lack any, if a test of it was not run.
    """
    if one.no_environment is None:
        return set(one.tests) <= set(one.ran) or not any(pin.python for pin in pins)
    return not any(pin.python and pin.id in one.no_environment for pin in pins)


def missing(
    decision: KeptDecision, dossiers: Sequence[Dossier], facts: Sequence[PinFacts], patches: Patches
) -> tuple[str, ...]:
    """What a retire candidate speaks of and no dossier lies before that holds: ``P1 on p32``, a patch and pin each."""
    asked = decision.decision
    made = {(one.patch, one.pin) for one in dossiers if one.ref == asked.ref and holds(one, facts, patches)}
    lacking = [(patch, pin) for patch in asked.patches for pin in asked.pins if (patch, pin) not in made]
    return tuple(f"{patch} on {pin}" for patch, pin in lacking)


class DossierMaker:
    """Has one made."""

    def __init__(self, upstream: Upstream, appraiser: Appraiser, decisions: Decisions, patches: Patches) -> None:
        self._upstream = upstream
        self._appraiser = appraiser
        self._decisions = decisions
        self._patches = patches

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

        Raises UnavailableError where upstream never answered, the pin has no files here, the diff lacks, or what it was
        made of is not what is known any more once it is made.
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
        dossier = replace(found, of=place.identity, head=pull.head, ours=self._patches.text_of(patch))
        if not await self._decisions.keep_dossier(dossier, pull):
            text = f"{ref} was forgotten, or has other commits, since the dossier was begun"
            raise UnavailableError(text, hint=f"genesisctl watch diff {ref} makes one of what is known now")
        return dossier
