"""After each sweep: the dossiers that decisions still lack are made, within a sweep's time for them."""

from __future__ import annotations

from collections import Counter

from genesisd.clock import Clock
from genesisd.errors import UnavailableError
from genesisd.watch.dossier_turns import Wish, in_turn, left_over, may_begin
from genesisd.watch.ports import Decisions, Patches
from genesisd.watch.result import SweepResult
from genesisd.wiring.watch_dossiers import DossierMaker, holds, is_whole


class DossierRounds:
    """Lives as long as the watch: it remembers what came to nothing, so that others have their turn first."""

    def __init__(self, decisions: Decisions, clock: Clock) -> None:
        self._decisions = decisions
        self._clock = clock
        self._vain: Counter[Wish] = Counter()

    async def after(self, result: SweepResult, maker: DossierMaker, patches: Patches) -> tuple[str, ...]:
        """Make those that are missing, and anew those whose tests can be run by now, as long as there is time.

        Returns what could not be made and what is left, a sentence each; one that could not be made anew stays what it
        was.
        """
        wishes = in_turn(result.kept, await self._made(result, patches), self._vain)
        self._vain = Counter({one: self._vain[one] for one in wishes})
        began = self._clock.monotonic()
        troubles: list[str] = []
        for turn, wish in enumerate(wishes):
            if not may_begin(self._clock.monotonic() - began):
                return (*troubles, left_over(wishes[turn:]))
            if trouble := await self._try(wish, result, maker):
                troubles.append(trouble)
        return tuple(troubles)

    async def _made(self, result: SweepResult, patches: Patches) -> set[Wish]:
        return {
            (one.patch, one.ref, one.pin)
            for one in await self._decisions.dossiers()
            if holds(one, result.facts.get(one.ref, ()), patches) and is_whole(one, result.pins)
        }

    async def _try(self, wish: Wish, result: SweepResult, maker: DossierMaker) -> str:
        patch, ref, pin = wish
        self._vain[wish] += 1
        try:
            await maker.make(patch, ref, pin, result.known, result.pins, whole=True)
        except UnavailableError as error:
            return f"no dossier of {patch} against {ref} on {pin}: {error.message}"
        del self._vain[wish]
        return ""
