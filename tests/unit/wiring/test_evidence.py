"""What is kept of a fault."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from aiohttp import web

from genesisd.incidents.disk import Budget
from genesisd.incidents.model import Incident, Recorded
from genesisd.incidents.redact import Redactor
from genesisd.supervisor.model import Reason
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring import evidence as module
from genesisd.wiring.evidence import FolderEvidence, snapshot
from genesisd.wiring.secret_values import known_secrets
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
        self.session = session
        self.specs, self.asks, self.open = {}, [], {}
        self.redact = Redactor()
        self.build()

    def build(self, **more):
        self.evidence = FolderEvidence(
            self.folder,
            self.runner,
            self.session,
            self.sink,
            self.clock,
            redact=self.redact,
            specs=lambda: self.specs,
            asks=lambda _: self.asks,
            still_open=lambda: self.open,
            **more,
        )

    def budget(self, **bounds):
        self.build(budget=Budget(**bounds))

    def newest(self):
        return Path(self.sink.events[-1][2]["path"])

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
    assert f"Process {os.getpid()}" in (bundle / "stacks.txt").read_text()
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


async def test_the_oldest_bundles_go_and_those_of_open_incidents_stay(scene):
    """A worker that hangs every night does not fill the disk."""
    scene.budget(count=3)
    for n in range(6):
        scene.clock.now += 1
        bundles = await scene.save(n)
        os.utime(scene.newest(), (n, n))
        if n == 1:
            scene.open["w"] = Incident("w", 1, 0.0, "hung", "", "", evidence=str(scene.newest()))
    assert [int(bundle.name.split("-")[1]) for bundle in bundles] == [1, 4, 5]


async def test_a_bundle_that_is_there_already_is_not_written_over(scene):
    """Two faults within one second."""
    for _ in range(3):
        bundles = await scene.save()
    assert len(bundles) == 3


async def test_neither_secrets_nor_prompts_get_into_a_bundle(scene):
    """Of the environment, the command line, the log, the metrics, the spec, the reason, the asks."""
    spec = WorkerSpec(
        command=("x", "--api-key", "canary-key", "--port", "{port}"), env={"HF_TOKEN": "canary-token", "PLAIN": "seen"}
    )
    scene.specs["w"] = spec
    scene.redact = Redactor(live=lambda: known_secrets({"MY_SECRET": "canary-own"}, scene.specs))
    scene.asks.append(Recorded("golden", "failure", "canary-key", "/v1", {"headers": {"Authorization": "canary-own"}}))
    scene.runner.lines = [
        "INFO: Authorization: Bearer canary-bearer",
        "Received request x: prompt: 'canary-prompt', params: SamplingParams(n=1)",
        "canary-prompt goes on",
        "INFO and this is seen",
        "canary-token canary-own",
    ]
    scene.build()
    await scene.save(reason=Reason("hung", "said canary-token"))
    everything = "".join(path.read_text() for path in scene.newest().iterdir())
    assert "canary-" not in everything
    assert everything.count("seen") == 2


def test_workers_come_and_go_while_secrets_are_looked_for():
    """A thread writes the bundle, and a search for the patch to blame begins at the same fault."""
    specs = {}

    class Slow:
        args, command = (), None

        @property
        def env(self):
            specs.setdefault("scratch-1", WorkerSpec(command=("x", "--port", "{port}")))
            return {"HF_TOKEN": "canary-token"}

    specs["w"] = Slow()
    assert known_secrets({}, specs) == {"canary-token"}


async def test_a_disk_that_refuses_is_an_error(scene):
    """The actor tells it and goes on."""
    (scene.folder / "w").write_text("in the way")
    with pytest.raises(OSError, match="directory"):
        await scene.evidence.save("w", 3, HUNG)
    assert scene.sink.events == []


def test_a_process_is_shown_with_its_state_and_its_command():
    """And with nothing that only root may read."""
    command = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()  # a process that has just begun shows no command yet
        found = snapshot(child.pid)
    assert (found["pid"], found["parent"]) == (child.pid, os.getpid())
    assert found["state"] in {"R", "S", "D"}
    assert found["argv"][1:] == ["-c", "print(flush=True); input()"]
    assert snapshot(999_999_999) is None
