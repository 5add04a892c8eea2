"""Everything about right answers, built and connected: recordings, the judge, experiments, incidents, quarantine.

A part of ``parts``, which builds what these stand on. Building starts nothing.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from genesisd.clock import Clock
from genesisd.config.paths import Paths
from genesisd.errors import ConflictError
from genesisd.incidents.model import Recorded
from genesisd.incidents.reading import RECONFIGURE
from genesisd.incidents.redact import Redactor
from genesisd.patches.catalog import catalog
from genesisd.probes.model import Outcome
from genesisd.probes.seat import Standing
from genesisd.store.store import Store
from genesisd.supervisor.model import LivenessFailed, Phase, Reason, WorkerState
from genesisd.supervisor.ports import CardLedger, Runner
from genesisd.supervisor.spec import SCRATCH, WorkerSpec, probes_of
from genesisd.supervisor.supervisor import Supervisor
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import Sink
from genesisd.telemetry.subscription import Told
from genesisd.wiring.acts import JudgeActs
from genesisd.wiring.attester import Attestations
from genesisd.wiring.bench import Bench
from genesisd.wiring.bisection import Bisections
from genesisd.wiring.desk import WRONG, JudgeDesk
from genesisd.wiring.evidence import FolderEvidence
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.gauges import Gauges
from genesisd.wiring.golden_service import GoldenService
from genesisd.wiring.goldens import Goldens, estranged
from genesisd.wiring.incidents import IncidentRecorder
from genesisd.wiring.known import KnownCases
from genesisd.wiring.overrides import WorkerOverrides
from genesisd.wiring.patched import Patched
from genesisd.wiring.prober import ProbeAdapter
from genesisd.wiring.quarantine import CARD, Quarantine
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.scratch import Scratch
from genesisd.wiring.secret_values import known_secrets
from genesisd.wiring.targets import Targets
from genesisd.wiring.trial_asks import ask_all_cases, ask_kinds


@dataclass(slots=True)
class Ground:
    """What all of it stands on."""

    paths: Paths
    specs: Callable[[], Mapping[str, WorkerSpec]]
    supervisor: Callable[[], Supervisor]
    store: Store
    sink: Sink
    metrics: Metrics
    clock: Clock
    session: aiohttp.ClientSession
    runner: Runner
    fronts: FrontAdapter
    cards: CardLedger
    patched: Patched
    attestations: Attestations
    quarantine: Quarantine
    rollbacks: Rollbacks
    overrides: WorkerOverrides
    demo: Callable[[str], Path | None]


class Correctness:
    """The parts that depend on each other."""

    def __init__(self, on: Ground) -> None:
        self._on = on
        self.quarantine = on.quarantine
        self.goldens = Goldens(on.paths.state_dir / "goldens")
        self.known = KnownCases(on.store.meta)
        self.targets = Targets(
            on.runner, on.fronts, on.attestations, on.patched, self.goldens, on.cards, on.sink, self.known
        )
        self.acts = JudgeActs(
            on.specs, on.supervisor, on.patched, on.rollbacks, lambda: self.bisections, catalog, self._told_back
        )
        self.desk = JudgeDesk(on.specs, self.acts, on.store.meta, on.sink, on.clock, self._shown)
        redact = Redactor(live=lambda: known_secrets(os.environ, on.specs()))
        self.evidence = FolderEvidence(
            on.paths.state_dir / "workers", on.runner, on.session, on.sink, on.clock, redact=redact, specs=on.specs,
            asks=self._transcript, build=self.build,
            still_open=lambda: self.recorder.open,
        )  # fmt: skip
        self.recorder = IncidentRecorder(
            on.store.incidents, on.sink, on.clock, ready=self._is_ready, build=self.build, redact=redact,
            save=self.evidence.save,
        )  # fmt: skip
        on.quarantine.incident_of = self._open_incident
        bench = Bench(
            on.specs, self.desk, self.recorder, on.store.history, on.metrics, on.sink, on.clock, on.patched,
            on.rollbacks, self._standings,
        )  # fmt: skip
        self.prober = ProbeAdapter(on.specs, self.targets.of, on.session, on.sink, on.clock, bench)
        self.scratch = Scratch(
            on.supervisor, on.overrides, self.targets.of_twin, on.runner.life, self._forget_scratch,
            on.paths, on.sink, on.clock.monotonic,
        )  # fmt: skip
        self.bisections = Bisections(
            on.specs, catalog, self.scratch.run_instead, lambda target, asked: ask_kinds(target, asked, on.session, on.clock),
            on.quarantine, on.store.meta, on.sink, on.clock.monotonic, self.desk.bisected,
        )  # fmt: skip
        self.recording = GoldenService(
            on.supervisor, on.runner.life, self.targets.of, self.prober.run_now, on.attestations, on.patched,
            self.goldens, self.scratch, on.session, on.demo, on.paths.cache_dir / "huggingface", on.sink, on.clock,
        )  # fmt: skip
        self.gauges = Gauges(
            on.specs, on.quarantine, on.rollbacks, self.bisections, self.goldens, self.recorder, on.patched,
            self._incarnation, on.metrics,
        )  # fmt: skip
        on.sink.listen(self._listen)

    # --- life -------------------------------------------------------------------------------------------------

    async def load(self, workers: Iterable[str]) -> None:
        """Remember what earlier daemons found, before any worker is adopted."""
        await self._on.quarantine.load()
        await asyncio.to_thread(self.goldens.load)
        self.goldens.on_fault = self._no_golden
        for fault in self.goldens.faults:
            self._no_golden(fault)
        for worker in workers:
            await self._on.rollbacks.load(worker)
            await self.desk.load(worker)
            await self.known.load(worker)
            await self.bisections.load(worker)

    def start(self) -> None:
        """Begin to judge, once workers are adopted; go on with what was under way."""
        self.desk.start()
        for worker in {one.worker for one in self._on.quarantine.all() if one.what == CARD}:
            if not self._on.runner.members(worker):
                self.cards_regained(worker)
        for worker, spec in self._on.specs().items():
            state = self._on.supervisor().actor(worker).state
            if self.bisections.pointless(worker) or not (spec.probes.judge.enabled or self.desk.fresh(worker)):
                self.reconfigured(worker, restarts=False)  # while no daemon ran
            if state.phase is Phase.READY:  # nothing changed for its actor; an order for it may be lost
                self.desk.ready(worker, state.incarnation)
            self._go_on(worker, waited_for=worker in self.desk.bisecting())
        self._tell_estranged()
        self.gauges.refresh(self._on.specs())

    def _go_on(self, worker: str, *, waited_for: bool) -> None:
        """With a search. One that ended stays kept, long after the judge heard of it: it says nothing of this life."""
        if not self.bisections.resume(worker):
            if waited_for:
                self.desk.lost(worker)
        elif waited_for:
            self._end_left(worker)

    def _end_left(self, worker: str) -> None:
        """A daemon may have died between the decision to search and the end of the life that answers wrong."""
        state = self._on.supervisor().actor(worker).state
        reason = Reason(WRONG, "it answers wrong, and the patch to blame is being looked for")
        self.acts.post(worker, LivenessFailed(self._on.clock.monotonic(), state.incarnation, reason))

    async def end_experiments(self) -> None:
        """Before workers are stopped: what they answer, or do not, while the daemon ends says nothing of them."""
        await self.desk.close()
        await self.bisections.close()

    async def close(self) -> None:
        """Before workers are let go of: experiments end with the daemon."""
        await self.end_experiments()
        await self.recorder.close()
        await self.known.close()
        await self._on.quarantine.close()
        await self._on.rollbacks.close()

    def forget(self, worker: str) -> None:
        """It left the configuration."""
        self.bisections.forget(worker, "the worker left the configuration")
        self.desk.forget(worker)
        self.known.forget(worker)
        self.targets.forget(worker)
        self._on.rollbacks.forget(worker)
        self._on.quarantine.forget(worker)

    def forgive(self, worker: str, *, lift: bool, because: str = "an operator took over") -> None:
        """A person begins anew; with ``lift`` also what it was taken back from."""
        self.bisections.forget(worker, because)
        self.desk.forgiven(worker)
        if lift:
            self._on.rollbacks.lift(worker)

    def reconfigured(self, worker: str, *, restarts: bool) -> None:
        """Somebody changed its configuration; with ``restarts`` what it is started with."""
        judged = self._on.specs()[worker].probes.judge.enabled
        if restarts or not judged or self.bisections.pointless(worker):
            self.forgive(worker, lift=restarts, because="the configuration changed")
            if self.recorder.open_of(worker) is not None:  # the judge forgot, and would never call it cured
                self._on.sink.emit("order", worker, verb=RECONFIGURE, peer="the configuration")
        self.desk.look(worker)

    def stopped(self, worker: str) -> None:
        """A person wants it down: nothing is tried on its behalf any more."""
        if self.bisections.busy(worker):
            self.forgive(worker, lift=False)

    async def ask_once(self, worker: str, kind: str) -> Outcome:
        """Ask every case of a kind, for somebody who wants to know; it counts for nothing. Raises ConflictError."""
        spec = self._on.specs()[worker]
        life = self._on.runner.life(worker)
        asked = next((one for one in probes_of(spec).correctness or () if one.kind == kind), None)
        if life is None or asked is None:
            text = f"worker {worker} does not run" if life is None else f"worker {worker} is not asked for {kind}"
            hint = f"genesisctl workers start {worker}" if life is None else f"genesisctl probes list {worker}"
            raise ConflictError(text, hint=hint, worker=worker, kind=kind)
        return await ask_all_cases(self.targets.of(life, spec), asked, self._on.session, self._on.clock)

    def follow(self, worker: str, state: WorkerState) -> None:
        """Each change of a worker's state."""
        if state.phase is Phase.READY and not worker.startswith(SCRATCH):
            self.desk.ready(worker, state.incarnation)
        if state.phase is Phase.FAILED and state.reason.code == "unkillable":
            for index in self._on.specs()[worker].gpus:
                text = f"processes of {worker} on it cannot be killed"
                self._on.quarantine.put_card(worker, index, text)
        elif state.reason.code == "was-unkillable":
            self.cards_regained(worker)

    def cards_regained(self, worker: str) -> None:
        """What it lost its cards to is gone; nothing happens where it lost none."""
        self._on.quarantine.free_cards(worker, "the processes that could not be killed are gone")

    def _open_incident(self, worker: str) -> int | None:
        found = self.recorder.open_of(worker)
        return None if found is None else found.id

    # --- what the parts ask -----------------------------------------------------------------------------------

    def _listen(self, told: Told) -> None:
        if told.worker is None or not told.worker.startswith(SCRATCH):
            self.recorder.listen(told)
            self.gauges.listen(told)

    def _shown(self, worker: str, step: str | None) -> None:
        self._on.metrics.judge(worker, step)

    def _transcript(self, worker: str) -> tuple[Recorded, ...]:
        return self.recorder.transcript(worker)

    def _standings(self, worker: str) -> tuple[Standing, ...]:
        return self.prober.standings(worker)

    def _told_back(self, worker: str, back: bool) -> None:
        self._on.metrics.rolled_back(worker, back=back)

    def _is_ready(self, worker: str) -> bool:
        actor = self._on.supervisor().actors.get(worker)
        return actor is not None and actor.state.phase is Phase.READY

    def _incarnation(self, worker: str) -> int:
        actor = self._on.supervisor().actors.get(worker)
        return 0 if actor is None else actor.state.incarnation

    def is_back(self, worker: str) -> bool:
        """Whether it was taken back to an older build."""
        return self._on.rollbacks.back(worker, self._on.specs()[worker]) is not None

    def build(self, worker: str) -> str | None:
        """Name of the build that it runs; None for the plain pin, or where nothing is known."""
        start = self._on.patched.running(worker, self._incarnation(worker))
        return None if start is None else start.build

    def _no_golden(self, fault: str) -> None:
        self._on.sink.emit("effect_failed", None, effect="golden", text=fault, hint="record it again")

    def _tell_estranged(self) -> None:
        for worker, model in estranged(self._on.specs(), self.goldens.models).items():
            of = "a recording is of a model with the flags that shape its answers, or of one command"
            text = f"what was recorded of {model} is not held against {worker} any more: {of}"
            hint = f"genesisctl probes record-golden {worker}"
            self._on.sink.emit("effect_failed", worker, effect="golden", text=text, hint=hint)

    def _forget_scratch(self, name: str) -> None:
        self._on.patched.forget(name)
        self._on.attestations.forget(name)
        self.targets.forget(name)
