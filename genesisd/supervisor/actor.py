"""One task a worker: take an event, decide, persist the intent, act, persist the outcome.

The actor owns its worker's state; everybody else sends it events. It never waits for something that may not
come: slow questions (gates, drain) run beside it and post their answers, and each phase has a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any, assert_never

from genesisd.clock import Clock
from genesisd.errors import ConfigError, ConflictError, GenesisError, NotFoundError
from genesisd.supervisor.model import (
    BeginProbes,
    CheckGates,
    CloseFront,
    DeadlinePassed,
    Drained,
    Effect,
    EndProbes,
    Event,
    GateOpened,
    GateShut,
    HoldFront,
    Kill,
    OpenFront,
    Phase,
    Policy,
    Reason,
    SaveEvidence,
    Spawn,
    Spawned,
    SpawnFailed,
    Terminate,
    WaitDrained,
    WorkerState,
)
from genesisd.supervisor.ports import (
    Evidence,
    Front,
    Gates,
    InFlight,
    Launcher,
    Prober,
    Runner,
    SpawnError,
    WorkerStore,
)
from genesisd.supervisor.transition import decide

GATE_SECONDS = 20.0
EVIDENCE_SECONDS = 10.0
DRAIN_LOOK_SECONDS = 0.1


class Observer:
    """Told of every change of state, and of what went wrong in an effect. Does nothing by default."""

    def changed(self, worker: str, before: WorkerState, after: WorkerState) -> None:
        """``before`` and ``after`` differ."""

    def spawned(self, worker: str, incarnation: int, pid: int) -> None:
        """A leader lives."""

    def adopted(self, worker: str, incarnation: int, pid: int) -> None:
        """A new daemon found it alive."""

    def trouble(self, worker: str, what: str, error: Exception) -> None:
        """An effect failed; the worker goes on without it."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Everything an actor acts through."""

    runner: Runner
    launcher: Launcher
    gates: Gates
    prober: Prober
    front: Front
    in_flight: InFlight
    evidence: Evidence
    store: WorkerStore
    observer: Observer
    clock: Clock


class Actor:
    """The single writer of one worker's state."""

    def __init__(self, worker: str, state: WorkerState, policy: Policy, ports: Ports) -> None:
        self.worker = worker
        self.state = state
        self.policy = policy
        self._ports = ports
        self._mailbox: asyncio.Queue[Event] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed = asyncio.Event()
        self._busy = self._ended = False
        self._posted = self._decided = 0

    def post(self, event: Event) -> None:
        """Something happened; handled in order of arrival."""
        self._posted += 1
        self._mailbox.put_nowait(event)

    async def decide(self, event: Event) -> None:
        """Post, and return once the state shows what the event meant and its orders were given.

        Raises ConflictError when the worker leaves supervision before.
        """
        self.post(event)
        ticket = self._posted
        while self._decided < ticket:
            await self.change()

    async def run(self) -> None:
        """Until cancelled. Processes outlive it: a cancelled actor lets go and stops nothing."""
        try:
            while True:
                event, taken = await self._next()
                self._busy = True
                try:
                    await self._step(event)
                except Exception as error:  # noqa: BLE001 - an actor that dies of a bug supervises nothing any more
                    self._ports.observer.trouble(self.worker, type(event).__name__, error)
                self._decided += taken
                self._busy = False
                self._announce()
        finally:
            self._ended = True
            self._announce()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def pending(self) -> bool:
        """Whether an event waits or is being handled."""
        return self._busy or not self._mailbox.empty()

    async def until(self, phases: frozenset[Phase]) -> WorkerState:
        """Wait until the worker is in one of the phases. Raises ConflictError when it leaves supervision before."""
        while self.state.phase not in phases:
            await self.change()
        return self.state

    async def change(self) -> None:
        """Wait until an event was handled. Raises ConflictError once none will be any more."""
        if not self._ended:
            await self._changed.wait()
        if self._ended:
            raise ConflictError(
                f"worker {self.worker} is not supervised any more",
                hint="it was removed from the configuration, or the daemon ends",
                worker=self.worker,
            )

    def _announce(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _next(self) -> tuple[Event, int]:
        """The next event, and how many it takes from the mailbox: a deadline is nobody's letter."""
        if self.state.deadline is None or not self._mailbox.empty():
            return await self._mailbox.get(), 1
        left = max(self.state.deadline - self._ports.clock.monotonic(), 0.0)
        try:
            async with asyncio.timeout(left):
                return await self._mailbox.get(), 1
        except TimeoutError:
            return DeadlinePassed(self._ports.clock.monotonic()), 0

    async def _step(self, event: Event) -> None:
        before = self.state
        after, effects = decide(before, event, self.policy)
        if after != before:
            await self._persist(before, after, effects)
            self.state = after
            self._tell(before, after)
        self._announce()
        for effect in effects:
            try:
                await self._act(effect)
            except Exception as error:  # noqa: BLE001 - a front that is silent or broken must not keep a SIGTERM back
                self._ports.observer.trouble(self.worker, type(effect).__name__, error)

    def _tell(self, before: WorkerState, after: WorkerState) -> None:
        try:
            self._ports.observer.changed(self.worker, before, after)
        except Exception as error:  # noqa: BLE001 - who listens may be broken; the orders are given all the same
            self._ports.observer.trouble(self.worker, "changed", error)

    async def _persist(self, before: WorkerState, after: WorkerState, effects: tuple[Effect, ...]) -> None:
        """A moved deadline alone is not worth a write: a new daemon renews it anyway."""
        if not effects and replace(before, deadline=None) == replace(after, deadline=None):
            return
        try:
            await self._ports.store.save(self.worker, after)
        except Exception as error:  # noqa: BLE001 - no fault of the store may stop a stop or a restart: the shim knows too
            self._ports.observer.trouble(self.worker, "save", error)

    async def _act(self, effect: Effect) -> None:  # noqa: C901 - a table, one row an effect
        ports = self._ports
        match effect:
            case CheckGates():
                self._beside(self._check_gates())
            case Spawn(incarnation):
                await self._spawn(incarnation)
            case Terminate(incarnation):
                await ports.runner.terminate(self.worker, incarnation)
            case Kill(incarnation):
                await ports.runner.kill(self.worker, incarnation)
            case BeginProbes(_, proven):
                life = ports.runner.life(self.worker)
                if life is not None:
                    ports.prober.begin(life, self.post, proven=proven)
            case EndProbes():
                ports.prober.end(self.worker)
            case OpenFront(incarnation):
                life = ports.runner.life(self.worker)
                if life is not None:
                    await ports.front.open(self.worker, life.host, life.port, incarnation)
            case HoldFront():
                await ports.front.hold(self.worker)
            case CloseFront(reason):
                await ports.front.close(self.worker, reason.text)
            case WaitDrained(incarnation):
                self._beside(self._wait_drained(incarnation))
            case SaveEvidence(incarnation, reason):
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(EVIDENCE_SECONDS):
                        await ports.evidence.save(self.worker, incarnation, reason)
            case _:
                assert_never(effect)

    async def _spawn(self, incarnation: int) -> None:
        now = self._ports.clock.monotonic
        try:
            launch = await self._ports.launcher.prepare(self.worker, incarnation)
            life = await self._ports.runner.spawn(launch, self.post)
        except SpawnError as error:
            self.post(
                SpawnFailed(now(), incarnation, Reason(f"spawn-{error.cause}", str(error)), permanent=error.permanent)
            )
            return
        except Exception as error:  # noqa: BLE001 - without an answer it would count as starting until its deadline
            hopeless = isinstance(error, ConfigError | NotFoundError)
            code = error.code if isinstance(error, GenesisError) else "os" if isinstance(error, OSError) else "error"
            self.post(SpawnFailed(now(), incarnation, Reason(f"spawn-{code}", str(error)), permanent=hopeless))
            return
        self._ports.observer.spawned(self.worker, incarnation, life.leader.pid)
        self.post(Spawned(now(), incarnation))

    async def _check_gates(self) -> None:
        try:
            async with asyncio.timeout(GATE_SECONDS):
                shut = await self._ports.gates.check(self.worker)
        except TimeoutError:
            shut = Reason("gate-silent", f"the checks before a spawn did not answer in {GATE_SECONDS:g} s")
        except Exception as error:  # noqa: BLE001 - no answer at all would hold the worker for its whole start deadline
            shut = Reason("gate-error", f"a check before the spawn failed: {str(error) or type(error).__name__}")
        at = self._ports.clock.monotonic()
        self.post(GateOpened(at) if shut is None else GateShut(at, shut))

    async def _wait_drained(self, incarnation: int) -> None:
        try:
            while await self._ports.in_flight.count(self.worker, incarnation):  # noqa: ASYNC110 - counted elsewhere
                await asyncio.sleep(DRAIN_LOOK_SECONDS)
        except Exception as error:  # noqa: BLE001 - not counted is not zero: the drain's deadline decides
            self._ports.observer.trouble(self.worker, "WaitDrained", error)
            return
        self.post(Drained(self._ports.clock.monotonic(), incarnation))

    def _beside(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
