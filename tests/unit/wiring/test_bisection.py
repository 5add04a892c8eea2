"""Bisections: the gate that keeps a worker back, runs that are not repeated, and an end that is always told."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from genesisd.patches.flags import Flag
from genesisd.store.store import Store
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.bisection import KEY, Bisections, constraints
from genesisd.wiring.bisection_case import Case
from genesisd.wiring.quarantine import Quarantine
from genesisd.wiring.scratch import ScratchError
from genesisd.wiring.trial_asks import Finding
from tests.fakes.supervision import SECONDS, FakeClock, FakeSink
from tests.unit.patches.made import edit, patch

IDS = ("P1", "P2", "P3", "P4", "P5")
CATALOG = tuple(patch(edit("a", "b"), id=name, flag=Flag(f"{name}_X")) for name in IDS)
CASE = Case(("golden",), "cpu", IDS, {}, "golden is bad after a restart")
ALWAYS = frozenset({"nothing at all"})


class Box:
    """``guilty``: a set fails once it has all of these in it; ``broken``: it cannot be started."""

    def __init__(self, folder):
        self.store = Store.open(folder / "genesisd.db")
        self.specs = {"w": WorkerSpec(pin="cpu", model="m")}
        self.guilty, self.broken, self.pin_fails = frozenset({"P4"}), frozenset(), False
        self.runs, self.without, self.asked, self.ended = [], [], [], []
        self.stop_at = 0
        self.held = asyncio.Event()
        self.held.set()
        self.next()

    def next(self):
        self.sink, clock = FakeSink(), FakeClock()
        self.quarantine = Quarantine(self.store.meta, self.sink, clock)
        self.bisections = Bisections(
            lambda: self.specs, lambda: CATALOG, self._run, self._ask, self.quarantine, self.store.meta, self.sink,
            clock.monotonic, lambda worker, event: self.ended.append((worker, event)),
        )  # fmt: skip

    async def _run(self, worker, pin, without, _text, ask):
        assert (worker, pin) == ("w", "cpu")
        there = frozenset(IDS) - frozenset(without)
        self.runs.append(there)
        self.without.append(frozenset(without))
        if len(self.runs) == self.stop_at:
            self.held.clear()
        await self.held.wait()
        if self.broken and self.broken <= there:
            raise ScratchError("it did not become ready")
        self.there = there
        return await ask(None)

    async def _ask(self, _target, asked):
        self.asked.append([one.kind for one in asked])
        fails = self.pin_fails or self.guilty <= self.there
        return (Finding.FAILS, "golden: wrong") if fails else (Finding.PASSES, "right")

    async def end(self):
        async with asyncio.timeout(SECONDS):
            while not self.ended:
                await asyncio.sleep(0.001)
        return self.ended[0][1]


@pytest.fixture
async def box(tmp_path):
    one = Box(tmp_path)
    yield one
    await one.bisections.close()
    await one.quarantine.close()
    one.store.close()


async def test_the_guilty_patch_goes_into_quarantine_before_anybody_hears(box):
    """Whoever opens the gate then starts without it."""
    seen = []
    box.bisections._ended = lambda worker, event: seen.append((event, dict(box.quarantine.patches("w", "cpu"))))
    box.bisections.begin("w", CASE)
    async with asyncio.timeout(SECONDS):
        while not seen:
            await asyncio.sleep(0.001)
    event, held = seen[0]
    assert (event.guilty, event.pin_fails, set(held)) == (("P4",), False, {"P4"})
    assert event.text.startswith("P4 makes the pin fail; the rest passes")
    assert box.asked[0] == ["golden"]
    assert len(box.runs) == len(set(box.runs)) <= 7


async def test_the_worker_is_kept_back_until_then(box):
    """The reason says how far it has come."""
    gate = box.bisections.gate()
    assert await gate("w") is None
    box.held.clear()
    box.bisections.begin("w", CASE)
    shut = await gate("w")
    assert (shut.code, "run 1: golden is bad" in shut.text) == ("bisecting", True)
    assert await gate("other") is None
    box.held.set()
    await box.end()
    assert await gate("w") is None
    assert (await box.store.meta.get(KEY + "w"))["ended"]["guilty"] == ["P4"]


async def test_an_end_that_no_judge_heard_of_is_told_by_the_next_daemon(box):
    """Once, and from what was kept: nothing is run again, and nothing goes into quarantine again."""
    box.bisections.begin("w", CASE)
    told = await box.end()
    await box.bisections.close()
    box.next()
    box.runs.clear()
    box.ended.clear()
    await box.bisections.load("w")
    assert await box.bisections.gate()("w") is None
    assert box.bisections.resume("w")
    assert (await box.end()).guilty == told.guilty == ("P4",)
    assert not box.bisections.resume("w")
    assert (box.runs, box.quarantine.all()) == ([], ())


async def test_what_the_worker_did_not_have_is_in_no_run(box):
    """What is in quarantine already, or configured and not in the build that it was taken back to, is no suspect.

    Nor for the next daemon.
    """
    box.stop_at = 2
    box.bisections.begin("w", replace(CASE, absent=("P0", "P9")))
    async with asyncio.timeout(SECONDS):
        while len(box.runs) < 2:
            await asyncio.sleep(0.001)
    await box.bisections.close()
    box.next()
    box.stop_at = 0
    box.held.set()
    await box.bisections.load("w")
    box.bisections.resume("w")
    assert (await box.end()).guilty == ("P4",)
    assert all(one >= {"P0", "P9"} for one in box.without)


async def test_the_next_daemon_goes_on_with_what_is_known(box):
    """No run is made twice."""
    box.stop_at = 3
    box.bisections.begin("w", CASE)
    async with asyncio.timeout(SECONDS):
        while len(box.runs) < 3:
            await asyncio.sleep(0.001)
    await box.bisections.close()
    before = [frozenset(one["patches"]) for one in box.sink.of("bisection_step")]
    assert (box.ended, len(before)) == ([], 2)
    box.next()
    box.stop_at = 0
    box.runs.clear()
    box.held.set()
    await box.bisections.load("w")
    assert await box.bisections.gate()("w") is not None
    assert box.bisections.resume("w")
    event = await box.end()
    assert event.guilty == ("P4",)
    assert not set(before) & set(box.runs)


@pytest.mark.parametrize(
    ("guilty", "words"),
    [({"P2", "P5"}, "P5 with P2 makes the pin fail"), (ALWAYS, "comes and goes")],
)
async def test_what_only_fails_together_and_what_does_not_fail(box, guilty, words):
    """One of two is enough; nothing is put away that was not shown to fail."""
    box.guilty = frozenset(guilty)
    box.bisections.begin("w", CASE)
    event = await box.end()
    assert words in event.text
    assert len(box.quarantine.all()) == len(event.guilty) == (0 if guilty is ALWAYS else 1)


async def test_a_pin_that_fails_by_itself_clears_all_patches(box):
    """One run shows it."""
    box.pin_fails = True
    box.bisections.begin("w", CASE)
    event = await box.end()
    assert (event.pin_fails, event.guilty, box.runs) == (True, (), [frozenset()])


async def test_a_scratch_worker_that_cannot_be_had_is_no_verdict(box):
    """It is said that nothing could be shown."""
    box.broken = frozenset()
    box.specs["w"] = box.specs["w"].model_copy(update={"probes": box.specs["w"].probes})

    async def refuse(*_):
        raise ScratchError("GPU 0 has 3 of 24 GiB free")

    box.bisections._run = refuse
    box.bisections.begin("w", CASE)
    event = await box.end()
    assert (event.guilty, event.pin_fails) == ((), False)
    assert "could not be asked" in event.text
    assert box.sink.of("bisection_step")[0]["text"] == "GPU 0 has 3 of 24 GiB free"


async def test_a_bug_ends_the_search_with_a_word(box):
    """A worker must not be kept back by a search that is not there any more."""

    async def burst(*_):
        raise RuntimeError("no such thing")

    box.bisections._run = burst
    box.bisections.begin("w", CASE)
    event = await box.end()
    assert event.text == "the search failed: no such thing"
    assert await box.bisections.gate()("w") is None


async def test_an_operator_ends_a_search(box):
    """The worker may start; the judge is not told, since the operator speaks to it."""
    box.held.clear()
    box.bisections.begin("w", CASE)
    await asyncio.sleep(0)
    box.bisections.forget("w")
    assert await box.bisections.gate()("w") is None
    assert box.sink.of("bisection_ended")[0]["text"].startswith("given up")
    await box.bisections.close()
    assert await box.store.meta.get(KEY + "w") is None
    assert box.ended == []


@pytest.mark.parametrize("kept", [7, {}, {"kinds": 1}, {"kinds": [], "pin": "", "patches": [], "known": [["x", "y"]]}])
async def test_what_another_version_kept_is_nothing(box, kept):
    """There is nothing to go on with, and the gate is open."""
    await box.store.meta.set(KEY + "w", kept)
    await box.bisections.load("w")
    assert not box.bisections.resume("w")
    assert await box.bisections.gate()("w") is None


def test_what_patches_need_of_each_other_is_the_catalogs():
    """Requirements, chains and conflicts, of those that are in the build."""
    base = patch(edit("a", "b"), id="A", flag=Flag("A_X"))
    more = patch(edit("b", "c", after="A"), id="B", flag=Flag("B_X"), requires=("C",), conflicts=("D",))
    rules = constraints(("A", "B"), (base, more))
    assert (rules.requires["B"], rules.after["B"], rules.after["A"]) == ({"C"}, {"A"}, frozenset())
    assert rules.conflicts == (frozenset({"B", "D"}),)


async def test_a_search_for_what_is_asked_no_more_is_pointless(box):
    """Each run would end without a word."""
    box.held.clear()
    box.bisections.begin("w", CASE)
    assert not box.bisections.pointless("w")
    box.specs["w"] = WorkerSpec(pin="cpu", model="m", probes={"correctness": [{"kind": "needle"}]})
    assert box.bisections.pointless("w")
    assert not box.bisections.pointless("other")


async def test_the_end_waits_for_the_scratch_worker_of_a_search_that_was_given_up(box):
    """Nothing of it may be left behind by the daemon."""
    gone = []
    running = asyncio.Event()

    async def run(*_):
        running.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            gone.append(True)

    box.bisections._run = run
    box.bisections.begin("w", CASE)
    async with asyncio.timeout(SECONDS):
        await running.wait()
    box.bisections.forget("w")
    await box.bisections.close()
    assert gone == [True]
