"""What is kept of a fault."""

from __future__ import annotations

import asyncio
import json
import os

import pytest
from aiohttp import web

from genesisd.supervisor.model import Reason
from genesisd.wiring import evidence as module
from genesisd.wiring.evidence import FolderEvidence, snapshot
from tests.fakes.supervision import FakeClock, FakeRunner, FakeSink, Log, life
from tests.fakes.wiring import engine

HUNG = Reason("hung", "no step for 10 s")


class Scene:
    def __init__(self, folder, session):
        self.folder = folder
        self.clock, self.sink = FakeClock(), FakeSink()
        self.runner = FakeRunner(Log(), self.clock)
        self.runner.left["w"] = [os.getpid(), 999_999_999]
        self.runner.lines = ["one", "two"]
        self.evidence = FolderEvidence(folder, self.runner, session, self.sink, self.clock)

    async def save(self, incarnation=3, reason=HUNG):
        await self.evidence.save("w", incarnation, reason)
        return sorted((self.folder / "w" / "evidence").iterdir())


async def metrics(request):
    return web.Response(text="vllm:num_requests_running 1\n")


@pytest.fixture
async def scene(tmp_path):
    async with engine({"/metrics": metrics}) as (port, session):
        scene = Scene(tmp_path, session)
        scene.runner.lives["w"] = life("w", 3, port)
        yield scene


async def test_a_bundle_has_the_tree_the_log_and_the_metrics(scene):
    """What a person needs to see why it was ended, after it was."""
    (bundle,) = await scene.save()
    summary = json.loads((bundle / "summary.json").read_text())
    assert {"worker": "w", "incarnation": 3, "reason": "hung", "text": "no step for 10 s"}.items() <= summary.items()
    assert [one["pid"] for one in summary["processes"]] == [os.getpid()]
    assert (bundle / "log.txt").read_text() == "one\ntwo"
    assert (bundle / "metrics.txt").read_text() == "vllm:num_requests_running 1\n"
    assert scene.sink.events == [("evidence_saved", "w", {"incarnation": 3, "path": str(bundle)})]


async def test_an_engine_that_does_not_answer_costs_only_its_metrics(scene, monkeypatch):
    """It is hung: that is why evidence is taken at all."""
    monkeypatch.setattr(module, "METRICS_SECONDS", 0.02)
    go = asyncio.Event()

    async def hang(request):
        await go.wait()
        return web.Response()

    async with engine({"/metrics": hang}) as (port, _):
        scene.runner.lives["w"] = life("w", 3, port)
        (bundle,) = await scene.save()
        go.set()
    assert (bundle / "metrics.txt").read_text() == "# could not be had: TimeoutError\n"


async def test_a_dead_engine_and_a_closed_port_are_no_faults(scene):
    """The tree may be gone by now."""
    scene.runner.lives["w"] = life("w", 3, 1)
    (first,) = await scene.save()
    assert "could not be had" in (first / "metrics.txt").read_text()
    scene.runner.lives.clear()
    scene.clock.now += 1
    _, second = await scene.save()
    assert (second / "metrics.txt").read_bytes() == b""


async def test_the_oldest_bundles_go(scene):
    """A worker that hangs every night does not fill the disk."""
    for n in range(module.KEEP + 3):
        scene.clock.now += 1
        bundles = await scene.save(n)
        os.utime(bundles[-1], (n, n))
    assert len(bundles) == module.KEEP
    assert sorted(int(bundle.name.split("-")[1]) for bundle in bundles) == list(range(3, module.KEEP + 3))


async def test_a_disk_that_refuses_is_an_error(scene):
    """The actor tells it and goes on."""
    (scene.folder / "w").write_text("in the way")
    with pytest.raises(OSError, match="directory"):
        await scene.evidence.save("w", 3, HUNG)
    assert scene.sink.events == []


def test_a_process_is_shown_with_its_state_and_its_command():
    """And with nothing that only root may read."""
    found = snapshot(os.getpid())
    assert (found["pid"], found["state"], found["parent"]) == (os.getpid(), found["state"], os.getppid())
    assert "python" in found["command"]
    assert snapshot(999_999_999) is None
