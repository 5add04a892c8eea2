"""Scratch workers: on the pin that is asked for, after the worker itself where that is wanted, and gone afterwards."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from genesisd.config.paths import Paths
from genesisd.supervisor.model import Phase, Reason, WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import scratch as module
from genesisd.wiring.overrides import WorkerOverrides
from genesisd.wiring.scratch import Scratch, ScratchError
from tests.fakes.supervision import SECONDS, FakeClock, FakeSink, life

SPEC = WorkerSpec(pin="new", model="m", listen="127.0.0.1:8000", after=("other",))


class FakeActor:
    pending = False

    def __init__(self, phase):
        self.state = WorkerState(phase=phase, reason=Reason("x", "it would not"))
        self.posted = []

    def post(self, event):
        self.posted.append(event)

    async def change(self):
        await asyncio.sleep(0.001)


class FakeSupervisor:
    """New workers are in ``becomes`` at once."""

    def __init__(self):
        self.specs, self.actors, self.becomes = {"w": SPEC}, {"w": FakeActor(Phase.READY)}, Phase.READY
        self.seen = {}

    def actor(self, name):
        return self.actors[name]

    async def add_new(self, name, spec):
        self.seen[name] = self.specs[name] = spec
        self.actors[name] = FakeActor(self.becomes)

    async def remove(self, name):
        del self.specs[name], self.actors[name]


class Box:
    def __init__(self, folder):
        self.supervisor, self.sink, self.lives = FakeSupervisor(), FakeSink(), {}
        self.paths = Paths(folder / "s", folder / "r", folder / "c", folder / "r/x.sock")
        self.overrides = WorkerOverrides(None, None)
        self.scratch = Scratch(
            lambda: self.supervisor, self.overrides, lambda life, spec, _: (life.worker, spec),
            lambda name: self.lives.get(name, None if name == "w" else life(name)), lambda _: None, self.paths,
            self.sink, FakeClock().monotonic,
        )  # fmt: skip

    def left(self, name):
        """What a worker of this name has on disk."""
        places = [self.paths.state_dir / "workers" / name / "log", self.paths.worker_tmp(name)]
        for place in places:
            place.mkdir(parents=True, exist_ok=True)
        lock = self.paths.runtime_dir / "shims" / f"{name}.lock"
        lock.parent.mkdir(exist_ok=True)
        lock.touch()
        return [*places, lock]


@pytest.fixture
def box(tmp_path):
    return Box(tmp_path)


async def test_it_runs_the_pin_that_is_asked_for(box):
    """A worker that was taken back does not run the configured one; nobody else reaches its twin, or waits for it."""

    async def ask(target):
        name, spec = target
        assert box.overrides.quarantined(name, "old") == {"P1": "an experiment"}
        return spec

    spec = await box.scratch.run("w", "old", {"P1"}, "an experiment", ask)
    assert (spec.pin, spec.model, spec.listen, spec.after, spec.restart.budget) == ("old", "m", None, (), 0)
    assert not box.overrides.experiments


async def test_nothing_is_left_of_it_or_of_an_earlier_daemons(box):
    """Names never come twice, so what stays would pile up. A worker with a like name keeps what it has."""
    earlier, kept = box.left("scratch-0"), box.left("w")
    box.supervisor.actors["scratch-1"] = FakeActor(Phase.STOPPING)
    leaving = box.left("scratch-1")
    mine = []

    async def ask(target):
        mine.extend(box.left(target[0]))
        raise RuntimeError("the question is broken")

    with pytest.raises(RuntimeError):
        await box.scratch.run("w", "new", (), "an experiment", ask)
    assert len(mine) == 3
    assert not any(path.exists() for path in (*mine, *earlier))
    assert all(path.exists() for path in (*kept, *leaving))
    assert set(box.supervisor.actors) == {"w", "scratch-1"}


async def test_one_that_fails_says_why(box):
    """The reason is the worker's own."""
    box.supervisor.becomes = Phase.FAILED
    with pytest.raises(ScratchError, match="it did not become ready: it would not"):
        await box.scratch.run("w", "new", (), "an experiment", lambda _: None)
    assert set(box.supervisor.actors) == {"w"}


async def test_an_experiment_instead_of_a_worker_waits_until_that_is_down(box, monkeypatch):
    """On its card there is no room for two; nor beside one that an earlier daemon left."""
    monkeypatch.setattr(module, "_LOOK", 0.001)
    box.lives["w"] = life("w")

    async def ask(target):
        return target[0]

    async with asyncio.timeout(SECONDS):
        task = asyncio.create_task(box.scratch.run_instead("w", "new", (), "an experiment", ask))
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert box.supervisor.seen == {}
        del box.lives["w"]
        box.supervisor.actors["w"].state = replace(box.supervisor.actors["w"].state, phase=Phase.BLOCKED)
        box.supervisor.actors["scratch-0"] = FakeActor(Phase.STOPPING)
        for _ in range(20):
            await asyncio.sleep(0.001)
        assert box.supervisor.seen == {}
        del box.supervisor.actors["scratch-0"]
        assert (await task).startswith("scratch-")


async def test_one_that_somebody_stops_while_it_starts_is_not_waited_for(box):
    """It would be until its whole time for a start is over."""
    box.supervisor.becomes = Phase.STOPPED
    async with asyncio.timeout(SECONDS):
        with pytest.raises(ScratchError, match="somebody stopped it: it would not"):
            await box.scratch.run("w", "new", (), "an experiment", None)
    assert set(box.supervisor.actors) == {"w"}
