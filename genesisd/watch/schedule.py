"""When to sweep: each window once, also after downtime, beside another daemon, and over changes of the clock.

APScheduler wakes; what is due is decided anew at each waking, by the windows and the ledger alone. So a wake too many
does no harm, and one that never came is made up for within a minute by looking anyway.
"""

from __future__ import annotations

import asyncio
import contextlib
import platform
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.base import BaseTrigger

from genesisd.clock import Clock, SystemClock
from genesisd.errors import UnavailableError
from genesisd.watch.claims import FAILED, LEASE, Claim, Claims, Swept
from genesisd.watch.cron import Cron, parse_cron
from genesisd.watch.kinds import SCHEDULED, SweepKind
from genesisd.watch.ports import Ledger
from genesisd.watch.spec import ScheduleSpec
from genesisd.watch.windows import Due, due, moment, next_begin

LOOK_SECONDS = 60.0
_JUMP = 2.0
"""Seconds between what the clock on the wall and the monotonic one say has passed: more is a clock that was set."""
_RETRY, _LONGEST_RETRY = 300.0, 3600.0
LONGEST = 4 * 3600.0
"""Seconds after which a sweep is given up: one that hangs must not be the last."""

Sweep = Callable[[Claim], Awaitable[Swept]]


@dataclass(slots=True, eq=False)
class _Order:
    """A sweep that people wait for; who asks before it begins shares it, and it does what the widest of them asks."""

    kind: SweepKind
    made: asyncio.Future[Swept]
    claim: Claim | None = None
    begins: bool = False


class Schedule:
    """One sweep at a time. ``start`` it, ``close`` it before the store is.

    A clock that was wrong and went back leaves the window that it was in done: when its time comes, that one is passed
    over.

    Args:
        spec: cron lines, which were checked when the configuration was read.
        ledger: what was done.
        sweep: makes one; what it raises is a failed sweep.
        owner: another one for each life of a daemon.
        box: what the jitter is drawn from.
        trouble: told, in a sentence, what went wrong around a sweep.
    """

    def __init__(
        self,
        spec: ScheduleSpec,
        ledger: Ledger,
        sweep: Sweep,
        *,
        owner: str,
        box: str | None = None,
        clock: Clock | None = None,
        trouble: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._sweep = sweep
        self._trouble = trouble
        self._box = platform.node() if box is None else box
        self._claims = Claims(ledger, owner, self._clock, trouble)
        self._crons: dict[SweepKind, Cron] = {}
        self._jitter = 0.0
        self._orders: list[_Order] = []
        """At most two: one that begins or runs, and one that waits for it."""
        self._resting: dict[SweepKind, tuple[float, float]] = {}
        """After a failure: until when (monotonic) it rests, and how long."""
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._scheduler = AsyncIOScheduler(timezone=UTC)
        self._set = self._clock.wall() - self._clock.monotonic()
        self.running: Due | None = None
        self.change(spec)

    def change(self, spec: ScheduleSpec) -> None:
        """Other times from now on. Raises ValueError for a cron line that cannot be read."""
        lines = {SweepKind.WEEKLY: spec.weekly, SweepKind.NIGHTLY: spec.nightly, SweepKind.HOURLY: spec.hourly}
        self._crons = {kind: parse_cron(line) for kind in SCHEDULED if (line := lines[kind]) is not None}
        self._jitter = spec.jitter
        self._arm()

    def start(self) -> None:
        """Begin: what is due already is swept at once."""
        self._scheduler.start()
        self._task = asyncio.create_task(self._keep(), name="watch schedule")

    async def close(self) -> None:
        """End. A sweep that runs is cancelled, and its window stays open."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
            await asyncio.sleep(0)  # it ends in a turn of the loop
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        for order in self._orders:
            _tell(order, _stopping())

    async def now(self, kind: SweepKind = SweepKind.NOW) -> Swept:
        """Sweep now, or with whoever asked before it began; raises UnavailableError where the daemon stops."""
        waiting = next((one for one in self._orders if not one.begins), None)
        if waiting is None:
            waiting = _Order(kind, asyncio.get_running_loop().create_future())
            self._orders.append(waiting)
        elif not waiting.kind.does(kind):
            waiting.kind = kind
        self._wake.set()
        return await asyncio.shield(waiting.made)

    def next_times(self) -> Mapping[SweepKind, float]:
        """When each is to begin, seconds since the epoch."""
        return {kind: self._next(kind).timestamp() for kind in self._crons}

    async def look(self) -> tuple[Due, ...]:
        """Make every sweep that is due, widest first, and tell which were made."""
        made: list[Due] = []
        async with self._turn:
            await self._claims.save()
            while claims := await self._claim():
                await self._run(claims)
                made.append(claims[0].due)
        return tuple(made)

    async def _keep(self) -> None:
        while True:
            self._wake.clear()
            self._notice_a_set_clock()
            try:
                await self.look()
            except Exception as error:  # noqa: BLE001 - without this loop nothing would ever be swept again
                self._trouble(f"whether a sweep is due could not be told, and is looked at again: {error}")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()

    async def _claim(self) -> tuple[Claim, ...]:
        if self._orders and (claims := await self._claim_asked(self._orders[0])):
            return claims
        at, monotonic = moment(self._clock.wall()), self._clock.monotonic()
        dues = [
            due(cron, kind, at, self._jitter, self._box)
            for kind, cron in self._crons.items()
            if monotonic >= self._resting.get(kind, (0.0, 0.0))[0]
        ]
        return await self._claims.take([one for one in dues if not self._claims.is_done(one)])

    async def _claim_asked(self, order: _Order) -> tuple[Claim, ...]:
        order.begins, at = True, self._clock.wall()
        window = moment(at).isoformat(timespec="microseconds")
        try:
            claims = await self._claims.take([Due(kind=order.kind, window=window, slot=at, late=0.0)])
        except Exception as error:
            self._orders.remove(order)
            _tell(order, UnavailableError(f"the sweep could not begin: {error}", hint="look at the store's disk"))
            raise
        order.claim = claims[0] if claims else None
        return claims

    async def _run(self, claims: tuple[Claim, ...]) -> None:
        """The first alone is swept: it does what the others ask for."""
        first = claims[0]
        order = next((one for one in self._orders if one.claim is first), None)
        self.running = first.due
        try:
            swept = await self._made(claims)
        except asyncio.CancelledError:
            await self._claims.close(claims, Swept(FAILED, {"text": "it was stopped"}))
            raise  # ``close`` tells whoever waits
        finally:
            self.running = None
        await self._claims.close(claims, swept)
        if order is None:
            self._rest(first.due.kind, failed=swept.outcome == FAILED)
            return
        self._orders.remove(order)
        order.made.set_result(swept)

    async def _made(self, claims: tuple[Claim, ...]) -> Swept:
        sweep = asyncio.ensure_future(self._sweep(claims[0]))
        loop = asyncio.get_running_loop()
        end = loop.time() + LONGEST
        try:
            while not (await asyncio.wait({sweep}, timeout=min(LEASE / 3, LONGEST)))[0]:
                if not await self._claims.hold(claims):
                    return Swept(FAILED, {"text": "another daemon took it over"})
                if loop.time() >= end:
                    return Swept(FAILED, {"text": f"it took longer than {LONGEST / 3600:g} h"})
            return Swept(FAILED, {"text": "it was cancelled"}) if sweep.cancelled() else sweep.result()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong in a sweep, the next one must come
            text = str(error) or type(error).__name__
            self._trouble(f"the {claims[0].due.kind} sweep failed: {text}")
            return Swept(FAILED, {"text": text})
        finally:
            sweep.cancel()
            await asyncio.gather(sweep, return_exceptions=True)

    def _rest(self, kind: SweepKind, *, failed: bool) -> None:
        """A failed kind waits before it is tried again; what it stood for besides is tried at once, by itself."""
        _, before = self._resting.pop(kind, (0.0, 0.0))
        if failed:
            seconds = min(max(_RETRY, 2 * before), _LONGEST_RETRY)
            self._resting[kind] = (self._clock.monotonic() + seconds, seconds)

    def _arm(self) -> None:
        self._scheduler.remove_all_jobs()
        for kind in self._crons:
            # Without a grace a wake that comes late is dropped, and late is what a busy or sleeping machine is.
            self._scheduler.add_job(
                self._woken, _Begins(self, kind), id=kind, coalesce=True, misfire_grace_time=None, max_instances=1
            )

    async def _woken(self) -> None:
        self._wake.set()

    def _notice_a_set_clock(self) -> None:
        """The scheduler sleeps for as long as it once reckoned; after a clock was set, that is another time."""
        offset = self._clock.wall() - self._clock.monotonic()
        if abs(offset - self._set) > _JUMP:
            self._set = offset
            self._arm()

    def _next(self, kind: SweepKind) -> datetime:
        return next_begin(self._crons[kind], kind, moment(self._clock.wall()), self._jitter, self._box)

    def seconds_until(self, kind: SweepKind) -> float:
        """Until the next window of ``kind`` is to begin, by our clock."""
        return self._next(kind).timestamp() - self._clock.wall()


def _tell(order: _Order, error: UnavailableError) -> None:
    if not order.made.done():
        order.made.set_exception(error)
        order.made.exception()  # perhaps nobody waits for it any more


def _stopping() -> UnavailableError:
    return UnavailableError("the daemon stops", hint="ask again when it is up")


class _Begins(BaseTrigger):  # type: ignore[misc]  # APScheduler has no types
    """Asks the windows, so that cron is read in one place; the scheduler's clock may be another than ours."""

    def __init__(self, schedule: Schedule, kind: SweepKind) -> None:
        self._schedule = schedule
        self._kind = kind

    def get_next_fire_time(self, previous_fire_time: datetime | None, now: datetime) -> Any:
        del previous_fire_time  # what was missed is made up for by looking at the ledger
        return now + timedelta(seconds=self._schedule.seconds_until(self._kind))
