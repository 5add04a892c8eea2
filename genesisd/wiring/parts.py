"""Every part of a daemon, built and connected; ``daemon.run`` runs them.

Building is cheap and starts nothing but the store's thread, so that a failure leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Mapping

import aiohttp

from genesisd.clock import Clock
from genesisd.config.root import Config
from genesisd.front.link import Fronts
from genesisd.store.store import Store
from genesisd.supervisor.actor import Ports
from genesisd.supervisor.runners.local import LocalRunner, own_group
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import Sink
from genesisd.wiring import gates
from genesisd.wiring.attester import Attestations
from genesisd.wiring.cards import NvmlLedger
from genesisd.wiring.correctness import Correctness, Ground
from genesisd.wiring.current import Current
from genesisd.wiring.engines import PinEngines
from genesisd.wiring.fingerprints import Fingerprints
from genesisd.wiring.followers import Followers
from genesisd.wiring.front_news import FrontNews
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.in_flight import FrontOrLoad
from genesisd.wiring.kernel_log import KernelLog
from genesisd.wiring.knowledge import Knowledge
from genesisd.wiring.late_watch import LateWatch
from genesisd.wiring.launcher import Patches, SpecLauncher, reports_of
from genesisd.wiring.models import demo_model
from genesisd.wiring.observer import StateTeller
from genesisd.wiring.overrides import WorkerOverrides
from genesisd.wiring.patched import Patched
from genesisd.wiring.quarantine import Quarantine
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.shared_memory import SharedMemoryNotes
from genesisd.wiring.starts import APPLIED
from genesisd.wiring.watch_needs import WatchNeeds
from genesisd.wiring.watch_workers import WatchedWorkers


class Parts:
    """The parts that depend on each other: processes, what they run, whether it answers right, upstream, supervision.

    The supervisor comes last and is asked by parts before it, so these take it by a call.
    """

    supervisor: Supervisor

    def __init__(
        self, current: Current, store: Store, metrics: Metrics, clock: Clock, session: aiohttp.ClientSession
    ) -> None:
        self._current = current
        self._paths = current.config.paths
        self._store = store
        self._metrics = metrics
        self._clock = clock
        self._session = session
        self.sink = Sink(metrics, store.journal, clock)
        self._hold_processes()
        self._choose_what_runs()
        self._judge_answers()
        self._follow_upstream()
        self._supervise()

    def _hold_processes(self) -> None:
        paths = self._paths
        self.fronts_link = Fronts(paths.runtime_dir / "fronts", FrontNews(self.sink))
        self.fronts = FrontAdapter(self.fronts_link)
        self.kernel_log = KernelLog(self._clock)
        self.runner = LocalRunner(
            paths.state_dir, paths.runtime_dir, clock=self._clock, cgroup=own_group(), kernel=self.kernel_log.lines
        )
        self.cards = NvmlLedger()

    def _choose_what_runs(self) -> None:
        meta, sink, paths = self._store.meta, self.sink, self._paths
        self.engines = PinEngines(self._current.config.pins, paths.cache_dir, sink)
        self.fingerprints = Fingerprints(meta, self._specs)
        self.quarantine = Quarantine(meta, sink, self._clock)
        self._rollbacks = Rollbacks(meta)
        self._overrides = WorkerOverrides(self.quarantine, self._rollbacks)
        self.patched = Patched(
            self._specs, self.engines, meta, sink, demo_model, self.cards, self._metrics, self._overrides
        )
        self.attestations = Attestations(
            self._specs, self.patched, self.runner, self.fronts, lambda worker: reports_of(paths, worker), sink,
            self._metrics,
        )  # fmt: skip

    def _judge_answers(self) -> None:
        self.correctness = Correctness(
            Ground(
                self._paths, self._specs, self._supervisor, self._store, self.sink, self._metrics, self._clock,
                self._session, self.runner, self.fronts, self.cards, self.patched, self.attestations, self.quarantine,
                self._rollbacks, self._overrides, demo_model,
            )
        )  # fmt: skip
        self.prober = self.correctness.prober

    def _follow_upstream(self) -> None:
        knowledge = Knowledge(demo_model, self._paths.cache_dir, self.cards)
        workers = WatchedWorkers(self._specs, knowledge, self._active, lambda: self._config().pins)
        self.watch = LateWatch(
            WatchNeeds(
                config=self._config, store=self._store, session=self._session, sink=self.sink,
                metrics=self._metrics.watch, clock=self._clock, workers=workers,
            )
        )  # fmt: skip

    def _supervise(self) -> None:
        launcher = SpecLauncher(
            self._effective, self._paths, self._current.port_range, self.engines, demo_model, self.runner.life,
            self._patches,
        )  # fmt: skip
        notes = SharedMemoryNotes(self.runner, self._paths.worker_tmp, self.sink)
        followers = Followers(
            self.fingerprints, self.patched, self.attestations, notes, self.correctness, self._supervisor
        )
        ordered = self._gates()
        self.supervisor = Supervisor(
            lambda _supervisor: Ports(
                runner=self.runner,
                launcher=launcher,
                gates=ordered,
                prober=self.prober,
                front=self.fronts,
                in_flight=FrontOrLoad(self.fronts, self.runner, self._session),
                evidence=self.correctness.evidence,
                store=self._store.workers,
                observer=StateTeller(self.sink, self._metrics, followers.changed, followers.born, followers.found),
                clock=self._clock,
            )
        )

    def _gates(self) -> gates.OrderedGates:
        """The first shut one is what a worker is said to wait for."""
        specs = self._specs
        return gates.OrderedGates(
            [
                gates.tree_gate(self.runner),
                gates.dependency_gate(specs, lambda: self.supervisor.states),
                self.correctness.bisections.gate(),
                self.engines.gate(self._effective),
                self.patched.gate(),
                gates.front_gate(specs, self.fronts),
                gates.port_gate(specs),
                gates.quarantine_gate(specs, self.quarantine.card, self.correctness.cards_regained),
                gates.card_gate(specs, self.cards),
            ]
        )

    # --- what parts ask of each other ---------------------------------------------------------------------------

    def _config(self) -> Config:
        return self._current.config

    def _supervisor(self) -> Supervisor:
        return self.supervisor

    def _specs(self) -> dict[str, WorkerSpec]:
        return self.supervisor.specs

    def _effective(self) -> Mapping[str, WorkerSpec]:
        """With the pins that workers are started with now."""
        return self._rollbacks.effective(self._specs())

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

    # --- end ----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """End what each of them does. Processes live on unless they were stopped before."""
        await self.watch.close()
        await self.correctness.close()
        await self.supervisor.detach()
        await self.prober.close()
        await self.engines.close()
        await self.patched.close()
        await self.fingerprints.close()
        await self.fronts_link.detach()
        await self.runner.close()
        self.kernel_log.close()
