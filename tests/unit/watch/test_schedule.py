"""The schedule over days of downtime, two daemons and clocks that were set: each window once, and none left out."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from apscheduler.triggers.cron import CronTrigger

from genesisd.errors import UnavailableError
from genesisd.watch import schedule as module
from genesisd.watch.claims import LEASE, Swept
from genesisd.watch.kinds import SweepKind
from genesisd.watch.schedule import Schedule
from genesisd.watch.spec import ScheduleSpec
from tests.helpers.memory_ledger import MemoryLedger

NIGHTLY = ScheduleSpec(nightly="30 2 * * *", hourly=None, weekly=None, jitter=0)
HOURLY = ScheduleSpec(nightly=None, hourly="5 * * * *", weekly=None, jitter=0)
ALL = ScheduleSpec(jitter=0)


class Clock:
    """Passes when told to; ``set`` moves the one on the wall alone."""

    def __init__(self, text):
        self.passed = 0.0
        self.at(text)

    def at(self, text):
        self._wall = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    set = at

    def advance(self, seconds):
        self.passed += seconds
        self._wall += seconds

    def monotonic(self):
        return self.passed

    def wall(self):
        return self._wall


class Sweeps:
    """Notes what was asked for, and answers as told."""

    def __init__(self):
        self.made = []
        self.answers = []
        self.gate = None

    async def __call__(self, claim):
        self.made.append(claim.due)
        if self.gate is not None:
            await self.gate.wait()
        answer = self.answers.pop(0) if self.answers else Swept("done")
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def names(self):
        return [f"{due.kind} {due.window}" for due in self.made]


@pytest.fixture
def ledger():
    return MemoryLedger()


@pytest.fixture
def sweeps():
    return Sweeps()


def schedule(spec, ledger, sweeps, clock, owner="a", **more):
    return Schedule(spec, ledger, sweeps, owner=owner, box="box", clock=clock, **more)


async def until(condition):
    """A few turns of the loop are all that anything here needs."""
    async with asyncio.timeout(20):
        while not condition():
            await asyncio.sleep(0)


async def test_s6_one_late_sweep_after_downtime(ledger, sweeps):
    """Down for six hours over the slot: exactly one sweep, recorded as late; the next night comes as ever."""
    clock = Clock("2026-10-24T02:30:00")
    await schedule(NIGHTLY, ledger, sweeps, clock).look()
    clock.at("2026-10-25T08:30:00")
    after = schedule(NIGHTLY, ledger, sweeps, clock, owner="b")
    after.start()
    await until(lambda: ledger.counted() == ["2026-10-24", "2026-10-25"])
    assert ledger.rows[-1].summary["late"] == 6 * 3600
    assert sweeps.made[-1].is_late
    for _ in range(3):
        assert await after.look() == ()
    clock.at("2026-10-26T02:30:01")
    await after.look()
    await after.close()
    assert sweeps.names == ["nightly 2026-10-24", "nightly 2026-10-25", "nightly 2026-10-26"]
    assert "late" not in ledger.rows[-1].summary


async def test_s6_two_daemons_make_one_sweep(ledger, sweeps):
    """Started together after the slot, and both looking all the time."""
    clock = Clock("2026-10-25T08:30:00")
    sweeps.gate = asyncio.Event()
    both = [schedule(NIGHTLY, ledger, sweeps, clock, owner=owner) for owner in ("a", "b")]
    for one in both:
        one.start()
    await until(lambda: len(sweeps.made) == 1)
    await both[1].look()
    sweeps.gate.set()
    await until(lambda: ledger.counted() == ["2026-10-25"])
    for one in both:
        await one.look()
        await one.close()
    assert sweeps.names == ["nightly 2026-10-25"]


async def test_s6_the_other_daemon_takes_over_from_a_dead_one(ledger, sweeps):
    """Not while the lease holds, and then at once."""
    clock = Clock("2026-10-25T02:30:00")
    await ledger.begin("nightly", "2026-10-25", "dead", clock.wall(), lease=LEASE)
    alive = schedule(NIGHTLY, ledger, sweeps, clock, owner="b")
    clock.advance(LEASE - 1)
    assert await alive.look() == ()
    clock.advance(2)
    assert [due.window for due in await alive.look()] == ["2026-10-25"]


@pytest.fixture
def berlin(monkeypatch):
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield ZoneInfo("Europe/Berlin")
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(("first", "days"), [("2026-03-28T00:00:00", 3), ("2026-10-24T00:00:00", 3)])
async def test_s7_one_sweep_a_date_where_clocks_change(ledger, sweeps, berlin, first, days):
    """A box in Berlin over both weekends: one night a date, also of its own calendar, and every hour once."""
    clock = Clock(first)
    one = schedule(ScheduleSpec(weekly=None, jitter=300), ledger, sweeps, clock)
    for _ in range(days * 24 * 60):
        await one.look()
        clock.advance(60)
    nights = [due for due in sweeps.made[1:] if due.kind is SweepKind.NIGHTLY]
    theirs = Counter(datetime.fromtimestamp(due.slot, berlin).date() for due in nights)
    utc = Counter(datetime.fromtimestamp(due.slot, UTC).date() for due in nights)
    assert set(theirs.values()) == set(utc.values()) == {1}
    assert len(theirs) == len(utc) == days
    hours = sorted(window for window in ledger.counted("hourly"))
    assert len(hours) == len(set(hours)) == days * 24 + 1  # and the one before the first
    assert not any(due.is_late for due in sweeps.made[1:])


def test_s7_local_time_would_have_swept_twice():
    """Why the schedule is kept in UTC: what the scheduler makes of 02:30 where that comes twice."""
    zone = ZoneInfo("Europe/Berlin")
    trigger, fired = CronTrigger.from_crontab("30 2 * * *", timezone=zone), []
    previous, now = None, datetime(2026, 10, 24, 12, tzinfo=zone)
    while len(fired) < 3:
        previous = now = trigger.get_next_fire_time(previous, now)
        fired.append(now.date().isoformat())
    assert fired == ["2026-10-25", "2026-10-25", "2026-10-26"]


async def test_a_clock_set_back_sweeps_no_window_twice(ledger, sweeps):
    """The windows that come again are done."""
    clock = Clock("2026-10-25T10:00:00")
    one = schedule(ALL, ledger, sweeps, clock)
    await one.look()
    clock.set("2026-10-25T03:00:00")
    for _ in range(12 * 9):
        await one.look()
        clock.advance(300)
    assert ledger.counted("nightly") == ["2026-10-25"]
    hours = [f"2026-10-25T{hour:02}Z" for hour in range(2, 12)]
    assert sorted(ledger.counted("hourly")) == hours


async def test_a_clock_set_forward_leaves_no_window_out(ledger, sweeps):
    """What was jumped over is made up for by one sweep, and the future is not waited for."""
    clock = Clock("2026-10-25T02:00:00")
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    await one.look()
    clock.set("2026-10-28T09:00:00")
    await one.look()
    clock.set("2026-10-25T03:00:00")
    for _ in range(4 * 24 * 4 - 8):
        await one.look()
        clock.advance(900)
    assert set(Counter(ledger.counted()).values()) == {1}
    assert set(ledger.counted()) == {f"2026-10-{day}" for day in range(24, 29)}


async def test_a_clock_that_was_years_ahead(ledger, sweeps):
    """What was done in that future keeps nothing of the present from being done."""
    clock = Clock("2031-05-05T12:00:00")
    await schedule(NIGHTLY, ledger, sweeps, clock).look()
    clock.set("2026-10-25T03:00:00")
    one = schedule(NIGHTLY, ledger, sweeps, clock, owner="b")
    await one.look()
    clock.advance(86400)
    await one.look()
    assert ledger.counted() == ["2031-05-05", "2026-10-25", "2026-10-26"]


async def test_the_widest_sweep_stands_for_the_others(ledger, sweeps):
    """A first start, or a long absence, is one sweep and not three."""
    clock = Clock("2026-11-30T12:00:00")
    one = schedule(ALL, ledger, sweeps, clock)
    await one.look()
    assert sweeps.names == ["weekly 2026-11-29"]
    assert sorted(ledger.counted()) == ["2026-11-29", "2026-11-30", "2026-11-30T11Z"]
    assert ledger.rows[0].summary["covers"] == ["nightly 2026-11-30", "hourly 2026-11-30T11Z"]
    assert ledger.rows[1].summary == {"covered_by": 1}
    assert await one.look() == ()
    clock.advance(3600)
    assert [due.window for due in await one.look()] == ["2026-11-30T12Z"]


@pytest.mark.parametrize("answer", [Swept("failed", {"text": "no"}), RuntimeError("boom"), asyncio.CancelledError()])
async def test_a_failed_sweep_is_tried_again_later_and_later(ledger, sweeps, answer):
    """Its window stays open; an hour is the longest rest; success ends it."""
    clock = Clock("2026-10-25T02:30:00")
    troubles = []
    one = schedule(NIGHTLY, ledger, sweeps, clock, trouble=troubles.append)
    sweeps.answers = [answer] * 6
    begun = []
    while not ledger.counted():
        if await one.look():
            begun.append(clock.passed)
        clock.advance(60)
    assert [round(b - a) for a, b in itertools.pairwise(begun)] == [300, 600, 1200, 2400, 3600, 3600]
    assert ledger.counted() == ["2026-10-25"]
    assert [row.outcome for row in ledger.rows] == ["failed"] * 6 + ["done"]
    assert bool(troubles) == isinstance(answer, RuntimeError)


async def test_a_wide_sweep_that_fails_keeps_no_other_from_being_made(ledger, sweeps):
    """What it stood for besides is tried by itself at once."""
    clock = Clock("2026-11-30T12:00:00")
    one = schedule(ALL, ledger, sweeps, clock)
    sweeps.answers = [Swept("failed")]
    await one.look()
    assert sweeps.names == ["weekly 2026-11-29", "nightly 2026-11-30"]
    assert sorted(ledger.counted()) == ["2026-11-30", "2026-11-30T11Z"]


async def test_a_partial_sweep_counts(ledger, sweeps):
    """Upstream was out for a part: the ages tell, the window is over."""
    clock = Clock("2026-10-25T02:30:00")
    sweeps.answers = [Swept("partial", {"unanswered": 3})]
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    await one.look()
    assert await one.look() == ()
    assert ledger.rows[0].summary == {"unanswered": 3}


async def test_a_sweep_that_was_taken_over_is_ended(ledger, sweeps, monkeypatch):
    """The machine slept longer than its lease; the other daemon's sweep is the one that counts."""
    monkeypatch.setattr(module, "LEASE", 0.03)
    clock = Clock("2026-10-25T02:30:00")
    sweeps.gate = asyncio.Event()
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    look = asyncio.create_task(one.look())
    await until(lambda: sweeps.made)
    clock.advance(LEASE + 1)
    taken = await ledger.begin("nightly", "2026-10-25", "b", clock.wall(), lease=LEASE)
    await look
    assert ledger.counted() == []
    await ledger.finish(taken, clock.wall(), outcome="done", summary={})
    clock.advance(3600)
    assert await one.look() == ()
    assert ledger.counted() == ["2026-10-25"]


async def test_a_long_sweep_holds_on(ledger, sweeps, monkeypatch):
    """Nobody takes it, also where the ledger fails for a while."""
    monkeypatch.setattr(module, "LEASE", 0.03)
    clock = Clock("2026-10-25T02:30:00")
    sweeps.gate = asyncio.Event()
    troubles = []
    one = schedule(NIGHTLY, ledger, sweeps, clock, trouble=troubles.append)
    look = asyncio.create_task(one.look())
    await until(lambda: sweeps.made)
    clock.advance(LEASE - 1)
    await until(lambda: ledger.rows[0].lease > clock.wall() + LEASE - 1)
    ledger.fail["renew"] = OSError("no space")
    await until(lambda: troubles)
    ledger.fail.clear()
    sweeps.gate.set()
    await look
    assert ledger.counted() == ["2026-10-25"]


async def test_a_sweep_that_hangs_is_given_up(ledger, sweeps, monkeypatch):
    """The next one comes."""
    monkeypatch.setattr(module, "LONGEST", 0.01)
    clock = Clock("2026-10-25T02:30:00")
    sweeps.gate = asyncio.Event()
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    await one.look()
    assert "longer than" in ledger.rows[0].summary["text"]
    sweeps.gate = None
    clock.advance(300)
    await one.look()
    assert ledger.counted() == ["2026-10-25"]


async def test_what_could_not_be_written_is_written_later(ledger, sweeps):
    """The disk was full at the end of a sweep: it is not swept again for that."""
    clock = Clock("2026-10-25T02:30:00")
    troubles = []
    one = schedule(NIGHTLY, ledger, sweeps, clock, trouble=troubles.append)
    ledger.fail["finish"] = OSError("no space")
    await one.look()
    await one.look()
    assert ledger.counted() == []
    assert "no space" in troubles[0]
    ledger.fail.clear()
    assert await one.look() == ()
    assert ledger.counted() == ["2026-10-25"]
    assert len(sweeps.made) == 1


async def test_a_ledger_that_fails_ends_nothing(ledger, sweeps, monkeypatch):
    """The loop goes on, says so, and sweeps once the disk is back."""
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    troubles = []
    ledger.fail["begin"] = OSError("no space")
    one = schedule(NIGHTLY, ledger, sweeps, Clock("2026-10-25T02:30:00"), trouble=troubles.append)
    one.start()
    await until(lambda: len(troubles) > 1)
    ledger.fail.clear()
    await until(lambda: ledger.counted() == ["2026-10-25"])
    await one.close()
    assert "no space" in troubles[0]


async def test_asked_for_by_a_person(ledger, sweeps):
    """At once, in addition to the windows; who asks meanwhile gets the next; who gives up does no harm."""
    clock = Clock("2026-10-25T02:30:00")
    never = ScheduleSpec(nightly=None, hourly=None, weekly=None)
    sweeps.gate = asyncio.Event()
    one = schedule(never, ledger, sweeps, clock)
    one.start()
    first, same = asyncio.create_task(one.now()), asyncio.create_task(one.now())
    await until(lambda: one.running)
    assert one.running.kind is SweepKind.NOW
    clock.advance(1)
    later, gone = asyncio.create_task(one.now()), asyncio.create_task(one.now())
    await asyncio.sleep(0)
    gone.cancel()
    sweeps.answers = [Swept("done", {"n": 1}), RuntimeError("boom")]
    sweeps.gate.set()
    assert (await first).summary == (await same).summary == {"n": 1}
    assert (await later) == Swept("failed", {"text": "boom"})
    await asyncio.gather(gone, return_exceptions=True)
    assert len(sweeps.made) == 2
    assert one.running is None
    await one.close()


async def test_an_order_keeps_its_kind(ledger, sweeps):
    """Beside a sweep that goes on, and when another asks for more or less: the widest that is asked for is made."""
    clock = Clock("2026-10-25T02:30:00")
    sweeps.gate = asyncio.Event()
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    one.start()
    await until(lambda: one.running)
    asked = [asyncio.create_task(one.now(kind)) for kind in (SweepKind.HOURLY, SweepKind.WEEKLY, SweepKind.NOW)]
    await asyncio.sleep(0)
    sweeps.gate.set()
    await asyncio.gather(*asked)
    assert [due.kind for due in sweeps.made] == [SweepKind.NIGHTLY, SweepKind.WEEKLY]
    await one.now(SweepKind.HOURLY)
    assert sweeps.made[-1].kind is SweepKind.HOURLY
    await one.close()


async def test_an_order_that_begins_takes_in_no_wider_one(ledger, sweeps):
    """Its window is being claimed for what it was: who comes now gets a sweep of their own."""
    one = schedule(ScheduleSpec(nightly=None, hourly=None, weekly=None), ledger, sweeps, Clock("2026-10-25T02:30:00"))
    begin, asked = ledger.begin, []

    async def slow(*args, **more):
        if not asked:
            asked.append(asyncio.create_task(one.now(SweepKind.WEEKLY)))
            await asyncio.sleep(0)
        return await begin(*args, **more)

    ledger.begin = slow
    one.start()
    await one.now(SweepKind.HOURLY)
    one._clock.advance(1)
    await asked[0]
    assert [due.kind for due in sweeps.made] == [SweepKind.HOURLY, SweepKind.WEEKLY]
    await one.close()


async def test_an_order_whose_end_is_being_written_is_told_that_the_daemon_stops(ledger, sweeps):
    """Rather than never."""
    one = schedule(ScheduleSpec(nightly=None, hourly=None, weekly=None), ledger, sweeps, Clock("2026-10-25T02:30:00"))
    writes = asyncio.Event()

    async def hangs(*_, **__):
        writes.set()
        await asyncio.Event().wait()

    ledger.finish = hangs
    one.start()
    asked = asyncio.create_task(one.now())
    await writes.wait()
    await one.close()
    with pytest.raises(UnavailableError, match="stops"):
        await asked


async def test_who_asked_is_told_that_the_daemon_stops(ledger, sweeps):
    """Whether the sweep ran already or had to wait; its window stays open for the next daemon."""
    clock = Clock("2026-10-25T02:30:00")
    sweeps.gate = asyncio.Event()
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    one.start()
    await until(lambda: one.running)
    waiting = asyncio.create_task(one.now())
    await asyncio.sleep(0)
    await one.close()
    with pytest.raises(UnavailableError, match="stops"):
        await waiting
    assert [row.outcome for row in ledger.rows] == ["failed"]

    two = schedule(ScheduleSpec(nightly=None, hourly=None, weekly=None), ledger, sweeps, clock)
    two.start()
    running = asyncio.create_task(two.now())
    await until(lambda: two.running)
    await two.close()
    with pytest.raises(UnavailableError, match="stops"):
        await running


async def test_who_asked_is_told_that_nothing_can_be_begun(ledger, sweeps):
    """Rather than waiting for a disk."""
    ledger.fail["begin"] = OSError("no space")
    one = schedule(ScheduleSpec(nightly=None, hourly=None, weekly=None), ledger, sweeps, Clock("2026-10-25T02:30:00"))
    one.start()
    with pytest.raises(UnavailableError, match="no space"):
        await one.now()
    await one.close()


async def test_the_scheduler_wakes_at_the_slot(ledger, sweeps):
    """The one test that waits: the slot is a moment away, and nothing but the scheduler wakes."""

    class Real:
        """The machine's own pace, from a little before the slot."""

        def __init__(self):
            at = datetime(2026, 10, 25, 2, 29, 59, 800_000, tzinfo=UTC).timestamp()
            self._ahead = at - time.monotonic()

        def monotonic(self):
            return time.monotonic()

        def wall(self):
            return time.monotonic() + self._ahead

    await ledger.finish(await ledger.begin("nightly", "2026-10-24", "x", 0, lease=1), 1, outcome="done", summary={})
    one = schedule(NIGHTLY, ledger, sweeps, Real())
    one.start()
    async with asyncio.timeout(20):
        while not ledger.counted("nightly")[1:]:
            await asyncio.sleep(0.01)
    await one.close()
    assert sweeps.names == ["nightly 2026-10-25"]


async def test_a_set_clock_is_noticed(ledger, sweeps, monkeypatch):
    """The scheduler is told to reckon anew: it would sleep past the slot, or up to where the clock was before."""
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.01)
    clock = Clock("2026-10-25T01:30:00")
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    one.start()
    await until(lambda: one.next_times()[SweepKind.NIGHTLY] == clock.wall() + 3600)

    def sleeps():
        job = one._scheduler.get_job(SweepKind.NIGHTLY)
        return (job.next_run_time - datetime.now(UTC)) / timedelta(hours=1)

    assert 0.9 < sleeps() < 1.1
    clock.set("2026-10-24T12:30:00")
    async with asyncio.timeout(20):
        while not 13.9 < sleeps() < 14.1:
            await asyncio.sleep(0.01)
    await one.close()


async def test_other_times_after_a_reload(ledger, sweeps):
    """They hold at once; one that cannot be read is refused and changes nothing."""
    clock = Clock("2026-10-25T02:30:00")
    one = schedule(NIGHTLY, ledger, sweeps, clock)
    await one.look()
    one.change(HOURLY)
    assert set(one.next_times()) == {SweepKind.HOURLY}
    assert [due.window for due in await one.look()] == ["2026-10-25T02Z"]
    with pytest.raises(ValueError, match="cron field hour"):
        one.change(ScheduleSpec.model_construct(weekly=None, nightly="0 25 * * *", hourly=None, jitter=0.0))
    assert set(one.next_times()) == {SweepKind.HOURLY}
    await one.close()
