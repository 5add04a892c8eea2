"""Supervision's ports in memory. ``told`` keeps what was ordered, in order; ``fail`` names what shall go wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genesisd.process_ref import ProcessRef
from genesisd.supervisor.actor import Observer, Ports
from genesisd.supervisor.model import Event, Exited, ExitRecord, Reason, Swept, WorkerState
from genesisd.supervisor.ports import Card, Found, FrontStats, Launch, Life, Report

NOTHING = Found(None, shim_alive=False, incarnation=0, last_exit=None)
ENDED = ExitRecord(0, None, "stopped", "it was asked to")
SECONDS = 60.0
"""Deadline of what is waited for; it only ends a test that fails."""


class FakeClock:
    """Moves when it is told to."""

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now

    def monotonic(self) -> float:
        return self.now

    def wall(self) -> float:
        return self.now + 1_800_000_000.0


class Log(list[tuple[Any, ...]]):
    """Orders as tuples, and faults: the next call whose name is in ``fail`` raises what stands there."""

    def __init__(self) -> None:
        super().__init__()
        self.fail: dict[str, Exception] = {}
        self._more = asyncio.Event()

    def note(self, *words: Any) -> None:
        self.append(words)
        self._more.set()
        if (error := self.fail.get(words[0])) is not None:
            raise error

    def named(self, *names: str) -> list[tuple[Any, ...]]:
        return [words for words in self if words[0] in names]

    async def until(self, name: str, count: int = 1) -> None:
        """Wait until an order was given so often."""
        async with asyncio.timeout(SECONDS):
            while len(self.named(name)) < count:
                self._more.clear()
                await self._more.wait()


def life(worker: str, incarnation: int = 1, port: int = 20000, host: str = "127.0.0.1") -> Life:
    return Life(worker, incarnation, ProcessRef(4000 + incarnation, 1, "boot"), host, port)


class FakeRunner:
    """Implements ``Runner``. What is terminated or killed ends at once, unless ``stubborn``."""

    def __init__(self, log: Log, clock: FakeClock, logs: Path = Path("/nonexistent")) -> None:
        self.log, self.clock, self.logs = log, clock, logs
        self.lives: dict[str, Life] = {}
        self.reports: dict[str, Report] = {}
        self.found: dict[str, Found] = {}
        self.left: dict[str, list[int]] = {}
        self.lines: list[str] = []
        self.stubborn = False

    async def adopt(self, worker: str, report: Report) -> Found:
        self.log.note("adopt", worker)
        self.reports[worker] = report
        found = self.found.get(worker, NOTHING)
        if found.life is not None:
            self.lives[worker] = found.life
        return found

    async def spawn(self, launch: Launch, report: Report) -> Life:
        self.log.note("spawn", launch.worker, launch.incarnation)
        self.reports[launch.worker] = report
        self.lives[launch.worker] = life(launch.worker, launch.incarnation, launch.port)
        return self.lives[launch.worker]

    async def terminate(self, worker: str, incarnation: int) -> None:
        self.log.note("terminate", worker, incarnation)
        if not self.stubborn:
            self.end(worker, incarnation)

    async def kill(self, worker: str, incarnation: int) -> None:
        self.log.note("kill", worker, incarnation)
        self.end(worker, incarnation)

    def end(self, worker: str, incarnation: int, record: ExitRecord = ENDED) -> None:
        """The tree dies and is swept."""
        self.lives.pop(worker, None)
        for event in (
            Exited(self.clock.now, incarnation, record),
            Swept(self.clock.now, incarnation),
        ):
            self.reports[worker](event)

    def life(self, worker: str) -> Life | None:
        return self.lives.get(worker)

    def members(self, worker: str, max_age: float = 0.0) -> Sequence[int]:
        return self.left.get(worker, [])

    async def tail(self, worker: str, lines: int) -> list[str]:
        return self.lines[-lines:] if lines else []

    def log_path(self, worker: str) -> Path:
        return self.logs / f"{worker}.log"

    async def release(self, worker: str) -> None:
        self.log.note("release", worker)

    async def close(self) -> None:
        self.log.note("close")


class FakeLauncher:
    """Implements ``Launcher``."""

    def __init__(self, log: Log) -> None:
        self.log = log

    async def prepare(self, worker: str, incarnation: int) -> Launch:
        self.log.note("prepare", worker, incarnation)
        return Launch(worker, incarnation, ("vllm",), {}, None, "127.0.0.1", 20000)


class FakeGates:
    """Implements ``Gates``: ``shut`` holds a reason a worker; ``ask`` may be a coroutine function of one's own."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.shut: dict[str, Reason] = {}
        self.ask: Any = None

    async def check(self, worker: str) -> Reason | None:
        self.log.note("check", worker)
        return self.shut.get(worker) if self.ask is None else await self.ask(worker)


class FakeProber:
    """Implements ``Prober``; ``auto`` events are reported as soon as a life begins."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.auto: Any = None

    def begin(self, life: Life, report: Report, *, proven: bool) -> None:
        self.log.note("probe", life.worker, life.incarnation, proven)
        for event in self.auto(life) if self.auto else ():
            report(event)

    def end(self, worker: str) -> None:
        self.log.note("unprobe", worker)

    def renew(self, worker: str, *, proven: bool) -> None:
        self.log.note("reprobe", worker, proven)


class FakeFront:
    """Implements ``Front`` and ``InFlight``."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.flying: dict[str, int] = {}

    async def open(self, worker: str, host: str, port: int, incarnation: int) -> None:
        self.log.note("open", worker, incarnation)

    async def hold(self, worker: str) -> None:
        self.log.note("hold", worker)

    async def close(self, worker: str, text: str) -> None:
        self.log.note("shut", worker, text)

    async def stats(self, worker: str) -> FrontStats | None:
        return None

    async def count(self, worker: str, incarnation: int) -> int:
        self.log.note("count", worker, incarnation)
        return self.flying.get(worker, 0)


class FakeEvidence:
    """Implements ``Evidence``."""

    def __init__(self, log: Log) -> None:
        self.log = log

    async def save(self, worker: str, incarnation: int, reason: Reason) -> None:
        self.log.note("evidence", worker, incarnation, reason.code)


class FakeStore:
    """Implements ``WorkerStore``."""

    def __init__(self, log: Log | None = None, states: Mapping[str, WorkerState] | None = None) -> None:
        self.log = Log() if log is None else log
        self.states = dict(states or {})
        self.loaded = dict(self.states)

    def load(self) -> dict[str, WorkerState]:
        return dict(self.loaded)

    async def save(self, worker: str, state: WorkerState) -> None:
        self.log.note("save", worker, state.phase.value, state.incarnation)
        self.states[worker] = state

    async def forget(self, worker: str) -> None:
        self.log.note("forget", worker)
        self.states.pop(worker, None)


class FakeSink:
    """Implements ``EventSink``."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str | None, dict[str, Any]]] = []

    def emit(self, kind: str, worker: str | None = None, /, **fields: Any) -> None:
        self.events.append((kind, worker, fields))

    @property
    def kinds(self) -> list[str]:
        return [kind for kind, _, _ in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [fields for one, _, fields in self.events if one == kind]


class FakeCards:
    """Implements ``CardLedger``."""

    def __init__(self, *cards: Card) -> None:
        self.known = {card.index: card for card in cards}

    async def cards(self) -> Mapping[int, Card]:
        return self.known


class Watcher(Observer):
    """Remembers what it was told; ``follow`` is called as the daemon's own observer calls it."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.follow: Any = lambda worker, after: None
        self.troubles: list[tuple[str, str, Exception]] = []

    def changed(self, worker: str, before: WorkerState, after: WorkerState) -> None:
        self.log.note("changed", worker, after.phase.value)
        self.follow(worker, after)

    def spawned(self, worker: str, incarnation: int, pid: int) -> None:
        self.log.note("born", worker, incarnation, pid)

    def adopted(self, worker: str, incarnation: int, pid: int) -> None:
        self.log.note("adopted", worker, incarnation, pid)

    def trouble(self, worker: str, what: str, error: Exception) -> None:
        self.troubles.append((worker, what, error))
        self.log.note("trouble", worker, what)


class Fakes:
    """All of them around one log."""

    def __init__(self, states: Mapping[str, WorkerState] | None = None) -> None:
        self.log = Log()
        self.clock = FakeClock()
        self.runner = FakeRunner(self.log, self.clock)
        self.launcher = FakeLauncher(self.log)
        self.gates = FakeGates(self.log)
        self.prober = FakeProber(self.log)
        self.front = FakeFront(self.log)
        self.evidence = FakeEvidence(self.log)
        self.store = FakeStore(self.log, states)
        self.watcher = Watcher(self.log)

    def ports(self) -> Ports:
        return Ports(
            runner=self.runner,
            launcher=self.launcher,
            gates=self.gates,
            prober=self.prober,
            front=self.front,
            in_flight=self.front,
            evidence=self.evidence,
            store=self.store,
            observer=self.watcher,
            clock=self.clock,
        )


def events_until_ready(clock: FakeClock) -> Any:
    """For ``FakeProber.auto``: every probe passes at once."""
    from genesisd.supervisor.model import ReadinessPassed, StartupPassed

    def events(life: Life) -> list[Event]:
        return [StartupPassed(clock.now, life.incarnation), ReadinessPassed(clock.now, life.incarnation)]

    return events
