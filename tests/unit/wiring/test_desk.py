"""The judge at work: what probes say becomes orders, once, and the next daemon goes on where this one was."""

from __future__ import annotations

import asyncio

import pytest

from genesisd.judge.model import Bisected, Means, Step
from genesisd.store.store import Store
from genesisd.supervisor.model import Condemned, LivenessFailed
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import desk as module
from genesisd.wiring.desk import JudgeDesk
from tests.fakes.supervision import SECONDS, FakeClock, FakeSink

PROBES = {"correctness": [{"kind": "golden"}, {"kind": "needle"}], "judge": {"settle": 5, "good_for": 50, "budget": 3}}


class FakeActs:
    def __init__(self):
        self.can = Means()
        self.done = []

    def means(self, _worker):
        return self.can

    def roll_back(self, worker):
        self.done.append(("roll_back", worker))
        return "cpu+good"

    def bisect(self, worker, kinds, _text):
        self.done.append(("bisect", worker, kinds))

    def post(self, worker, event):
        self.done.append((type(event), worker, event.incarnation))


class Box:
    def __init__(self, folder):
        self.store = Store.open(folder / "genesisd.db")
        self.clock = FakeClock()
        self.specs = {"w": WorkerSpec(pin="p", model="m", probes=PROBES)}
        self.shown = {}
        self.next()

    def next(self):
        """The next daemon on the same store."""
        self.acts, self.sink = FakeActs(), FakeSink()
        self.desk = JudgeDesk(
            lambda: self.specs, self.acts, self.store.meta, self.sink, self.clock, self.shown.__setitem__
        )

    async def told(self, kind, count=1):
        async with asyncio.timeout(SECONDS):
            while len(self.sink.of(kind)) < count:
                await asyncio.sleep(0.001)
        return self.sink.of(kind)

    async def quiet(self):
        """All that was heard is decided."""
        async with asyncio.timeout(SECONDS):
            while not self.desk._mail.empty():
                await asyncio.sleep(0.001)
        await self.store.meta.get("x")
        await asyncio.sleep(0.01)

    def bad(self, incarnation, kind="golden"):
        self.desk.weighed("w", incarnation, kind, "hello: 'x', expected 'y'", good=False)


@pytest.fixture
async def box(tmp_path):
    one = Box(tmp_path)
    one.desk.start()
    yield one
    await one.desk.close()
    one.store.close()


async def test_a_wrong_answer_restarts_the_worker_once(box):
    """Told first; then the life is ended, at the cost of its restart budget."""
    box.desk.ready("w", 1)
    box.bad(1)
    (order,) = await box.told("judge_restart")
    assert box.sink.of("judge_told")[0]["step"] == "alert"
    assert "hello: 'x', expected 'y'" in order["text"]
    assert box.acts.done == [(LivenessFailed, "w", 1)]
    assert box.shown["w"] is Step.RESTART


async def test_what_may_only_be_told_is_only_told(box):
    """The limit is the probe's."""
    box.desk.ready("w", 1)
    box.bad(1, "needle")
    await box.told("judge_told")
    await box.quiet()
    assert box.acts.done == []


async def test_a_kind_that_is_not_asked_any_more_says_nothing(box):
    """A reload took it out while its answer was on the way."""
    box.desk.ready("w", 1)
    box.bad(1, "reasoning")
    await box.quiet()
    assert box.sink.events == []


async def test_the_ladder_is_climbed_life_by_life(box):
    """Restart, rollback, bisection, hold: each with its own act."""
    box.acts.can = Means(rollback=True, bisect=True)
    for incarnation, kind in enumerate(("judge_restart", "judge_rollback", "judge_bisect"), 1):
        box.desk.ready("w", incarnation)
        await box.quiet()
        box.clock.now += 10
        box.bad(incarnation)
        await box.told(kind)
    assert box.sink.of("judge_rollback")[0]["build"] == "cpu+good"
    box.desk.bisected("w", Bisected(box.clock.now, (), pin_fails=True, text="the plain pin fails as well"))
    (held,) = await box.told("judge_hold")
    assert "the plain pin" in held["text"]
    acts = [one[0] for one in box.acts.done]
    assert acts == [LivenessFailed, "roll_back", LivenessFailed, "bisect", LivenessFailed, Condemned]


async def test_the_next_daemon_climbs_on(box):
    """It does not restart once more what was restarted already."""
    box.acts.can = Means(rollback=True)
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    await box.desk.close()
    box.next()
    await box.desk.load("w")
    assert box.shown["w"] is Step.RESTART
    box.acts.can = Means(rollback=True)
    box.desk.start()
    box.desk.ready("w", 2)
    await box.quiet()
    box.clock.now += 10
    box.bad(2)
    await box.told("judge_rollback")


async def test_after_a_reboot_times_are_moved(box, monkeypatch):
    """The monotonic clock begins anew; a budget that was spent is spent still."""
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    await box.desk.close()
    monkeypatch.setattr(module, "boot_id", lambda: "another boot")
    box.clock.now = 5.0
    box.next()
    await box.desk.load("w")
    ((at, step),) = box.desk.state("w").taken
    assert (at <= 5.0, step) == (True, "restart")


async def test_a_person_begins_anew(box):
    """What was taken before is forgotten, for the next daemon too."""
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    box.desk.forgiven("w")
    await box.quiet()
    assert box.desk.state("w").step is None
    box.desk.ready("w", 2)
    box.bad(2)
    await box.told("judge_restart", 2)


async def test_a_worker_that_is_not_judged_is_left_alone(box):
    """``judge.enabled`` is the operator's word."""
    off = {**PROBES, "judge": {"enabled": False}}
    box.specs["w"] = WorkerSpec(pin="p", model="m", probes=off)
    box.desk.ready("w", 1)
    box.bad(1)
    await box.quiet()
    assert (box.sink.events, box.acts.done) == ([], [])


async def test_a_worker_that_left_is_forgotten(box):
    """One that comes back under its name has done nothing yet."""
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    box.desk.forget("w")
    await box.quiet()
    await box.desk.close()
    box.next()
    await box.desk.load("w")
    assert box.desk.state("w").step is None


async def test_a_bug_in_an_act_is_told_and_the_judge_goes_on(box, monkeypatch):
    """Other workers are judged by the same task."""
    monkeypatch.setattr(module, "RETRY_SECONDS", 0.0)
    box.specs["other"] = box.specs["w"]
    post = box.acts.post
    box.acts.post = lambda worker, event: 1 / 0 if worker == "w" else post(worker, event)
    box.desk.ready("w", 1)
    box.bad(1)
    (trouble,) = await box.told("effect_failed")
    assert trouble["effect"] == "judge"
    box.desk.ready("other", 7)
    box.desk.weighed("other", 7, "golden", "wrong", good=False)
    await box.told("judge_restart", 2)
    assert box.acts.done == [(LivenessFailed, "other", 7)]


@pytest.mark.parametrize("kept", [7, "x", {"state": "{}"}, {"state": "no", "boot": "b"}, {"boot": "b"}])
async def test_what_another_version_kept_is_nothing(box, kept):
    """A daemon must start all the same."""
    await box.store.meta.set("judge/w", kept)
    await box.desk.load("w")
    assert box.desk.state("w").step is None


async def test_a_search_that_was_lost_with_a_daemon_ends_in_a_hold(box):
    """Nobody would open the gate otherwise."""
    box.acts.can = Means(bisect=True)
    for incarnation, kind in enumerate(("judge_restart", "judge_bisect"), 1):
        box.desk.ready("w", incarnation)
        await box.quiet()
        box.clock.now += 10
        box.bad(incarnation)
        await box.told(kind)
    assert box.desk.bisecting() == ["w"]
    box.desk.lost("w")
    await box.told("judge_hold")


async def test_what_complained_and_is_asked_no_more_presses_no_more(box):
    """A person who takes a probe out that is mistaken has said what he thinks of it."""
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    box.desk.ready("w", 2)
    box.bad(2)
    await box.quiet()
    box.specs["w"] = WorkerSpec(pin="p", model="m", probes={**PROBES, "correctness": [{"kind": "needle"}]})
    box.clock.now += 10
    box.desk.look("w")
    await box.quiet()
    box.clock.now += 60
    box.desk.look("w")
    await box.told("judge_cured")
    assert (box.acts.done, dict(box.desk.state("w").complaints)) == ([(LivenessFailed, "w", 1)], {})


async def test_a_golden_that_is_taken_away_takes_its_complaint_along(box):
    """Of this life: else a recording that was wrong would hold the worker for good, though nobody asks by it."""
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart")
    box.desk.ready("w", 2)
    await box.quiet()
    box.desk.withdrawn("w", 2, "golden")
    await box.quiet()
    assert box.desk.state("w").complaints
    box.bad(2)
    await box.quiet()
    box.desk.withdrawn("w", 2, "golden")
    await box.quiet()
    assert not box.desk.state("w").complaints
    box.clock.now += 6
    box.desk.look("w")
    await box.quiet()
    assert box.sink.of("judge_hold") == []


async def test_one_that_is_forgiven_while_nobody_judges_it_is_judged_anew_afterwards(box):
    """Else a search that the word had ended would keep it from being judged for ever."""
    box.acts.can = Means(bisect=True)
    for incarnation, kind in enumerate(("judge_restart", "judge_bisect"), 1):
        box.desk.ready("w", incarnation)
        await box.quiet()
        box.clock.now += 10
        box.bad(incarnation)
        await box.told(kind)
    on, box.specs["w"] = box.specs["w"], WorkerSpec(pin="p", model="m", probes={**PROBES, "judge": {"enabled": False}})
    box.desk.forgiven("w")
    await box.quiet()
    assert box.desk.bisecting() == []
    box.specs["w"] = on
    box.desk.ready("w", 3)
    box.bad(3)
    await box.told("judge_restart", 2)


async def test_what_is_said_of_a_worker_that_leaves_is_forgotten_with_it(box):
    """Its lives are counted anew when it comes back: one that was remembered would not be judged for many lives."""
    box.desk.ready("w", 7)
    box.bad(7)
    await box.told("judge_restart")
    box.desk.forget("w")
    box.desk.ready("w", 8)
    box.desk.forget("w")
    await box.quiet()
    box.desk.ready("w", 1)
    box.bad(1)
    await box.told("judge_restart", 2)
    assert box.acts.done[-1] == (LivenessFailed, "w", 1)
