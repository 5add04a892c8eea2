"""The correctness stage of one life: one probe at a time, when users leave room. ``schedule`` says whose turn it is."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import aiohttp

from genesisd.clock import Clock
from genesisd.errors import ConflictError
from genesisd.probes import by_deadline, schedule
from genesisd.probes.cost import Ledger, Mood
from genesisd.probes.model import Outcome, Stage, unknown
from genesisd.probes.ports import Listener, Target
from genesisd.probes.quiet import Quiet
from genesisd.probes.schedule import Ask, Scene, Wait
from genesisd.probes.seat import Seat, Standing
from genesisd.probes.spec import CostSpec

_SPREAD = 30.0
"""Seconds over which the first asks of a worker that ran before are spread: a daemon that begins again would
otherwise ask all workers of the box everything at once."""
_AFTER_FAULT = 1.0
"""Seconds without asking after a fault of ours, which would otherwise be repeated as fast as it can be."""


@dataclass(slots=True)
class Rounds:
    """Asks from ``begin`` until its task is cancelled. ``fault`` is called for whatever fails on this side."""

    target: Target
    seats: Sequence[Seat]
    listener: Listener
    session: aiohttp.ClientSession
    clock: Clock
    cost: CostSpec
    fault: Callable[[], None]
    rng: random.Random = field(default_factory=random.Random)
    _begun: asyncio.Event = field(default_factory=asyncio.Event)
    _called: asyncio.Event = field(default_factory=asyncio.Event)
    _ended: bool = False
    _serving: list[asyncio.Future[Outcome]] = field(default_factory=list)
    _ledger: Ledger = field(init=False)
    _quiet: Quiet = field(init=False)
    _scene: Scene = field(init=False)
    _hold: float = 0.0
    """Until when a saturated engine is not looked at again."""

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.cost)
        self._quiet = Quiet(self.session, self._ledger)
        self._scene = Scene(Mood.QUIET, self._ledger.room(0.0, Mood.QUIET))

    def begin(self, *, spread: bool = False) -> None:
        """The worker answers from now on; only the first call counts."""
        if self._begun.is_set():
            return
        now = self.clock.monotonic()
        for seat in self.seats:
            seat.begin(now, self.rng.uniform(0, min(seat.spec.period, _SPREAD)) if spread else 0.0)
        self._begun.set()

    async def run(self) -> None:
        """For ever; cancelled in an ask it takes the ask with it. Closing the probes is the caller's."""
        try:
            await self._begun.wait()
            while True:
                await self._safely()
        finally:
            self.end()

    def end(self) -> None:
        """Whoever still waits for an answer is told that the life is over."""
        self._ended = True
        for answer in (*self._serving, *(one for seat in self.seats for one in seat.waiting)):
            if not answer.done():
                answer.set_exception(self._over())

    async def run_now(self, kind: str) -> Outcome:
        """Ask ``kind`` next, whatever users do and whatever it costs; the answer counts like any other.

        Raises:
            ConflictError: the worker is not asked for ``kind``, has not been ready yet, or its life ended meanwhile.
        """
        seat = next((one for one in self.seats if one.kind == kind), None)
        if seat is None:
            raise self._no_such(kind)
        if self._ended:
            raise self._over()
        if not self._begun.is_set():
            text = f"worker {self.target.worker} has not been ready yet; nothing that it answers counts before that"
            raise ConflictError(text, hint="wait until it is ready", worker=self.target.worker, kind=kind)
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        seat.waiting.append(answer)
        self._called.set()
        return await answer

    def standings(self) -> tuple[Standing, ...]:
        """Each probe's, in the order in which they are listed."""
        return tuple(seat.standing() for seat in self.seats)

    async def _safely(self) -> None:
        """A fault here must not take readiness and liveness with it."""
        try:
            await self._step()
        except Exception:  # noqa: BLE001 - the rounds are ours; the worker is not to blame
            self.fault()
            await asyncio.sleep(_AFTER_FAULT)

    async def _step(self) -> None:
        self._called.clear()  # before anybody is looked for: who calls from here on ends the next wait
        wanted = next((seat for seat in self.seats if _still_wanted(seat)), None)
        if wanted is not None:
            await self._ask(wanted, Mood.IDLE)  # an operator's ask leaves the budget as it is
            return
        turns = [seat.turn() for seat in self.seats]
        now = self.clock.monotonic()
        if schedule.paying(turns, now) and now >= self._hold:
            self._scene = await self._quiet.scene(self.target, self.clock.monotonic, _settle(turns))
            now = self.clock.monotonic()
        self._tell_neglected(schedule.neglected(turns, now, self._scene), now)
        match schedule.decide(turns, now, self._scene):
            case Ask(kind):
                await self._ask(self._seat(kind), self._scene.mood)
            case Wait(seconds, _):
                self._hold = now + seconds if self._scene.mood is Mood.SATURATED else self._hold
                await self._wait(seconds)

    async def _ask(self, seat: Seat, mood: Mood) -> None:
        self._serving, seat.waiting = seat.waiting, []
        outcome = await by_deadline.ask(seat.probe, self.target, seat.spec.timeout, self.clock, self.fault)
        now = self.clock.monotonic()
        self._ledger.spend(now, outcome.tokens, mood)
        try:
            self._take(seat, outcome, now)
        finally:
            seat.plan(now, self.rng)
            self._answer(outcome)

    def _answer(self, outcome: Outcome) -> None:
        waiting, self._serving = self._serving, []
        for answer in waiting:
            if not answer.done():
                answer.set_result(outcome)

    def _take(self, seat: Seat, outcome: Outcome, now: float) -> None:
        conclusive = seat.heard(outcome, now)
        self.listener.result(Stage.CORRECTNESS, seat.kind, outcome)
        if conclusive:
            self.listener.weighed(seat.kind, outcome, good=seat.threshold.good is True)

    def _tell_neglected(self, kinds: dict[str, str], now: float) -> None:
        for kind, why in kinds.items():
            self._take(self._seat(kind), unknown(f"could not ask: {why}"), now)

    async def _wait(self, seconds: float) -> None:
        """Until the time has passed or an operator calls."""
        try:
            async with asyncio.timeout(seconds):
                await self._called.wait()
        except TimeoutError:
            pass

    def _seat(self, kind: str) -> Seat:
        return next(seat for seat in self.seats if seat.kind == kind)

    def _over(self) -> ConflictError:
        text = f"the life of worker {self.target.worker} that was to be asked has ended"
        return ConflictError(text, hint="ask again once it is ready", worker=self.target.worker)

    def _no_such(self, kind: str) -> ConflictError:
        known = ", ".join(seat.kind for seat in self.seats) or "nothing"
        text = f"worker {self.target.worker} is not asked for {kind!r}; it is asked for {known}"
        return ConflictError(text, hint="list it under probes.correctness", worker=self.target.worker, kind=kind)


def _still_wanted(seat: Seat) -> bool:
    seat.waiting = [one for one in seat.waiting if not one.done()]
    return bool(seat.waiting)


def _settle(turns: Sequence[schedule.Turn]) -> float:
    """A quarter of the shortest interval: who wants to be asked often must not be held up by the looks."""
    return min(one.interval for one in turns) / 4
