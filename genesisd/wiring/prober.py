"""The supervisor's ``Prober`` by real probes: one set of probes a life, their results told and remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Protocol

import aiohttp

from genesisd.clock import Clock
from genesisd.control.views import ProbeView
from genesisd.errors import ConflictError
from genesisd.probes.loop import Watch
from genesisd.probes.model import Outcome, Stage
from genesisd.probes.ports import Target
from genesisd.probes.seat import Standing
from genesisd.probes.spec import AttestationProbe, ProbesSpec
from genesisd.supervisor.model import (
    LivenessFailed,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    StartupPassed,
)
from genesisd.supervisor.ports import EventSink, Life, Report
from genesisd.supervisor.spec import WorkerSpec, probes_of

EVIDENCE_LIMIT = 2000


class Bench(Protocol):
    """Who hears what correctness probes say."""

    def asked(self, life: Life, kind: str, outcome: Outcome, standing: Standing) -> None:
        """Each ask, whatever came of it."""
        ...

    def weighed(self, life: Life, kind: str, outcome: Outcome, *, good: bool) -> None:
        """Each yes and each no."""
        ...


class ProbeAdapter:
    """Implements ``Prober``.

    Args:
        specs: the workers.
        target: makes what is asked of a life.
        session: for all probes.
        sink: whom to tell.
        clock: the time.
        bench: who hears what correctness probes say.
    """

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        target: Callable[[Life, WorkerSpec], Target],
        session: aiohttp.ClientSession,
        sink: EventSink,
        clock: Clock,
        bench: Bench,
    ) -> None:
        self._specs = specs
        self._target = target
        self._session = session
        self._sink = sink
        self._clock = clock
        self._bench = bench
        self._sets: dict[str, Watch] = {}
        self._begun: dict[str, tuple[Life, Report]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._views: dict[str, dict[tuple[str, str], ProbeView]] = {}
        self._shown: dict[str, tuple[ProbeView, ...]] = {}

    def begin(self, life: Life, report: Report, *, proven: bool) -> None:
        """Ask this life from now on."""
        self.end(life.worker)
        self._views[life.worker] = {}
        self._shown.pop(life.worker, None)  # what the last life answered is not this one's
        spec = self._specs()[life.worker]
        teller = _Teller(life, report, self)
        target = self._target(life, spec)
        needed = target.attester is not None and target.attester.needed
        asked = with_attestation(probes_of(spec)) if needed else probes_of(spec)
        probes = Watch(target, asked, teller, self._session, self._clock, proven)
        self._sets[life.worker] = probes
        self._begun[life.worker] = (life, report)
        probes.start()

    def renew(self, worker: str, *, proven: bool) -> None:
        """The spec's probes changed: ask the living incarnation by the new ones."""
        if (begun := self._begun.get(worker)) is not None:
            self.begin(*begun, proven=proven)

    def end(self, worker: str) -> None:
        """Ask no more; open connections are closed in the background."""
        self._begun.pop(worker, None)
        probes = self._sets.pop(worker, None)
        if probes is not None:
            task = asyncio.create_task(probes.close(), name=f"end probes {worker}")
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    def views(self, worker: str) -> tuple[ProbeView, ...]:
        """The newest result of each probe; the same object while nothing came in."""
        shown = self._shown.get(worker)
        if shown is None:
            shown = self._shown[worker] = tuple(self._views.get(worker, {}).values())
        return shown

    def standings(self, worker: str) -> tuple[Standing, ...]:
        """How each correctness probe of the living incarnation stands; nothing where none is asked."""
        probes = self._sets.get(worker)
        return () if probes is None else probes.standings()

    async def run_now(self, worker: str, kind: str) -> tuple[Life, Outcome]:
        """Ask a correctness probe next; its answer counts. Raises ConflictError."""
        probes, begun = self._sets.get(worker), self._begun.get(worker)
        if probes is None or begun is None:
            hint = f"genesisctl workers start {worker}"
            raise ConflictError(f"worker {worker} is not asked: it does not run", hint=hint, worker=worker)
        return begun[0], await probes.run_now(kind)

    async def close(self) -> None:
        """End all probes and wait for it."""
        for worker in tuple(self._sets):
            self.end(worker)
        await asyncio.gather(*self._ending, return_exceptions=True)

    # --- what the tellers of lives hand on --------------------------------------------------------------------

    def told(self, life: Life, stage: Stage, kind: str, outcome: Outcome) -> None:
        """Each ask, changed or not."""
        worker, verdict = life.worker, outcome.verdict.value
        view = ProbeView(stage.value, kind, verdict, outcome.summary, self._clock.monotonic())
        before = self._remember(worker, view)
        facts = {"stage": stage.value, "kind": kind, "verdict": verdict, "incarnation": life.incarnation}
        self._sink.emit("probe_result", worker, seconds=outcome.seconds, **facts)
        if before is None or before.verdict != verdict:
            self._sink.emit("probe_changed", worker, summary=outcome.summary, **facts)
        if stage is Stage.CORRECTNESS:
            standing = next((one for one in self.standings(worker) if one.kind == kind), None)
            if standing is not None:
                self._bench.asked(life, kind, outcome, standing)

    def weighed(self, life: Life, kind: str, outcome: Outcome, *, good: bool) -> None:
        """A correctness probe said yes or no."""
        self._bench.weighed(life, kind, outcome, good=good)

    def hung(self, life: Life, summary: str, evidence: Mapping[str, object]) -> None:
        """Once a life."""
        shown = json.dumps(evidence, default=str)[:EVIDENCE_LIMIT]
        facts = {"incarnation": life.incarnation, "summary": summary, "evidence": shown}
        self._sink.emit("liveness_failed", life.worker, **facts)

    def now(self) -> float:
        """When something is reported."""
        return self._clock.monotonic()

    def _remember(self, worker: str, view: ProbeView) -> ProbeView | None:
        views = self._views.setdefault(worker, {})
        before = views.get((view.stage, view.kind))
        views[view.stage, view.kind] = view
        self._shown.pop(worker, None)
        return before


def with_attestation(spec: ProbesSpec) -> ProbesSpec:
    """The same, with a look at what the processes run before anything else that makes ready, unless there is one.

    One in another stage does not stand in for it: liveness is presumed, and startup is not asked again.
    """
    if any(isinstance(one, AttestationProbe) for one in spec.readiness):
        return spec
    return spec.model_copy(update={"readiness": (AttestationProbe(), *spec.readiness)})


class _Teller:
    """Implements the probes' ``Listener`` for one life."""

    def __init__(self, life: Life, report: Report, adapter: ProbeAdapter) -> None:
        self._life = life
        self._report = report
        self._adapter = adapter

    def result(self, stage: Stage, kind: str, outcome: Outcome) -> None:
        """Each ask, changed or not."""
        self._adapter.told(self._life, stage, kind, outcome)

    def weighed(self, kind: str, outcome: Outcome, *, good: bool) -> None:
        """A correctness probe said yes or no."""
        self._adapter.weighed(self._life, kind, outcome, good=good)

    def startup_passed(self) -> None:
        """Once a life."""
        self._report(StartupPassed(self._adapter.now(), self._life.incarnation))

    def readiness(self, ok: bool, summary: str) -> None:
        """On change."""
        at, incarnation = self._adapter.now(), self._life.incarnation
        reason = Reason("not-ready", summary)
        self._report(ReadinessPassed(at, incarnation) if ok else ReadinessFailed(at, incarnation, reason))

    def liveness_failed(self, summary: str, evidence: Mapping[str, object]) -> None:
        """Once a life."""
        self._adapter.hung(self._life, summary, evidence)
        self._report(LivenessFailed(self._adapter.now(), self._life.incarnation, Reason("hung", summary)))

    def progressed(self) -> None:
        """A start that is under way moves."""
        self._report(Progressed(self._adapter.now(), self._life.incarnation))
