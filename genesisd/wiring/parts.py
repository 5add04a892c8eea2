"""Every part of a daemon, built and connected; ``daemon.py`` runs them.

Building is cheap and starts nothing but the store's thread, so that a failure leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from genesisd.clock import Clock
from genesisd.config.root import Config, PortRange
from genesisd.control.views import ProbeView
from genesisd.demo.locate import locate
from genesisd.front.link import Fronts
from genesisd.store.store import Store
from genesisd.supervisor.actor import Ports
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.runners.local import LocalRunner, own_group
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import Sink
from genesisd.wiring import gates
from genesisd.wiring.attester import Attestations
from genesisd.wiring.cards import NvmlLedger
from genesisd.wiring.correctness import Correctness, Ground
from genesisd.wiring.engines import PinEngines
from genesisd.wiring.fingerprints import Fingerprints
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.in_flight import FrontOrLoad
from genesisd.wiring.kernel_log import KernelLog
from genesisd.wiring.knowledge import Knowledge
from genesisd.wiring.late_watch import LateWatch
from genesisd.wiring.launcher import Patches, SpecLauncher, reports_of
from genesisd.wiring.observer import StateTeller
from genesisd.wiring.overrides import WorkerOverrides
from genesisd.wiring.patched import Patched
from genesisd.wiring.quarantine import Quarantine
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.shared_memory import SharedMemoryNotes
from genesisd.wiring.starts import APPLIED
from genesisd.wiring.watch_needs import WatchNeeds
from genesisd.wiring.watch_workers import WatchedWorkers


@dataclass(slots=True)
class Current:
    """The configuration in force; a reload replaces it, and every part sees the new one."""

    config: Config

    def port_range(self) -> PortRange:
        """Where engines behind fronts listen."""
        return self.config.daemon.port_range


class Parts:
    """The parts that depend on each other."""

    supervisor: Supervisor

    def __init__(
        self, current: Current, store: Store, metrics: Metrics, clock: Clock, session: aiohttp.ClientSession
    ) -> None:
        paths = current.config.paths

        def specs() -> dict[str, WorkerSpec]:
            return self.supervisor.specs  # which exists only after this

        self.session = session
        self._lost_fronts: set[str] = set()
        self.sink = Sink(metrics, store.journal, clock)
        self.fronts_link = Fronts(paths.runtime_dir / "fronts", self._tell_front)
        self.fronts = FrontAdapter(self.fronts_link)
        self.kernel_log = KernelLog(clock)
        self.runner = LocalRunner(
            paths.state_dir, paths.runtime_dir, clock=clock, cgroup=own_group(), kernel=self.kernel_log.lines
        )
        self.engines = PinEngines(current.config.pins, paths.cache_dir, self.sink)
        self.cards = NvmlLedger()
        self.fingerprints = Fingerprints(store.meta, specs)

        self.quarantine = Quarantine(store.meta, self.sink, clock)
        rollbacks = Rollbacks(store.meta)
        overrides = WorkerOverrides(self.quarantine, rollbacks)

        def effective() -> Mapping[str, WorkerSpec]:
            """With the pins that workers are started with now."""
            return rollbacks.effective(specs())

        self.patched = Patched(specs, self.engines, store.meta, self.sink, demo_model, self.cards, metrics, overrides)
        self.attestations = Attestations(
            specs, self.patched, self.runner, self.fronts, lambda worker: reports_of(paths, worker), self.sink, metrics
        )
        self.correctness = Correctness(
            Ground(
                paths, specs, lambda: self.supervisor, store, self.sink, metrics, clock, session, self.runner,
                self.fronts, self.cards, self.patched, self.attestations, self.quarantine, rollbacks, overrides,
                demo_model,
            )
        )  # fmt: skip
        watched = WatchedWorkers(
            specs, Knowledge(demo_model, paths.cache_dir, self.cards), self._active, lambda: current.config.pins
        )
        self.watch = LateWatch(
            WatchNeeds(
                config=lambda: current.config, store=store, session=session, sink=self.sink, metrics=metrics.watch,
                clock=clock, workers=watched,
            )
        )  # fmt: skip
        self.prober = self.correctness.prober
        launcher = SpecLauncher(
            effective, paths, current.port_range, self.engines, demo_model, self.runner.life, self._patches
        )
        notes = SharedMemoryNotes(self.runner, paths.worker_tmp, self.sink)

        def born(worker: str, incarnation: int) -> None:
            self.fingerprints.spawned(worker)
            self.patched.spawned(worker, incarnation)
            self.attestations.begin(worker, incarnation)

        def follow(worker: str, state: WorkerState) -> None:
            notes.follow(worker, state)
            if state.phase is Phase.READY:
                self.patched.ready(worker, state.incarnation)
            self.correctness.follow(worker, state)
            self.supervisor.follow(worker, state)

        def found(worker: str, incarnation: int) -> None:
            self.patched.adopted(worker, incarnation)
            self.attestations.adopted(worker, incarnation)

        ordered = gates.OrderedGates(
            [
                gates.tree_gate(self.runner),
                gates.dependency_gate(specs, lambda: self.supervisor.states),
                self.correctness.bisections.gate(),
                self.engines.gate(effective),
                self.patched.gate(),
                gates.front_gate(specs, self.fronts),
                gates.port_gate(specs),
                gates.quarantine_gate(specs, self.quarantine.card, self.correctness.cards_regained),
                gates.card_gate(specs, self.cards),
            ]
        )
        self.supervisor = Supervisor(
            lambda _supervisor: Ports(
                runner=self.runner,
                launcher=launcher,
                gates=ordered,
                prober=self.prober,
                front=self.fronts,
                in_flight=FrontOrLoad(self.fronts, self.runner, session),
                evidence=self.correctness.evidence,
                store=store.workers,
                observer=StateTeller(self.sink, metrics, follow, born, found),
                clock=clock,
            )
        )

    def probes(self, worker: str) -> tuple[ProbeView, ...]:
        """The newest results."""
        return self.prober.views(worker)

    def _active(self, worker: str) -> frozenset[str] | None:
        """Ids of the patches in the build that the worker runs."""
        life = self.runner.life(worker)
        start = None if life is None else self.patched.running(worker, life.incarnation)
        return (
            None if start is None else frozenset(id_ for id_, note in start.patches.items() if note.verdict in APPLIED)
        )

    async def _patches(self, worker: str, incarnation: int) -> Patches | None:
        """What patches change about the next launch."""
        choice = await self.patched.prepare(worker, incarnation)
        if choice is None:
            return None
        return Patches(choice.selection.environ, None if choice.build is None else choice.build.path)

    def _tell_front(self, kind: str, worker: str, /, **fields: object) -> None:
        if kind == "front-lost":
            self._lost_fronts.add(worker)
        elif kind == "front-started" and worker in self._lost_fronts:
            self._lost_fronts.discard(worker)
            kind = "front-restarted"
        self.sink.emit(kind.replace("-", "_"), worker, **fields)


def demo_model(name: str) -> Path | None:
    """The folder of the project's own model, verified; None for any other name."""
    return locate().path if name == "tiny" else None
