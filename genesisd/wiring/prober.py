"""The supervisor's ``Prober`` by real probes: one set of probes a life, their results told and remembered."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping

import aiohttp

from genesisd.clock import Clock
from genesisd.control.views import ProbeView
from genesisd.probes.loop import Watch
from genesisd.probes.model import Outcome, Stage
from genesisd.probes.ports import Attester, Target, Traffic
from genesisd.probes.spec import AttestationProbe, ProbesSpec
from genesisd.supervisor.model import (
    LivenessFailed,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    StartupPassed,
)
from genesisd.supervisor.ports import EventSink, Life, Report, Runner
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.fronts import FrontAdapter

EVIDENCE_LIMIT = 2000
LOOK_AGE = 0.5
"""Seconds that a look at the process table may be old for a probe: workers share looks."""


class ProbeAdapter:
    """Implements ``Prober``."""

    def __init__(
        self,
        specs: Callable[[], Mapping[str, WorkerSpec]],
        runner: Runner,
        fronts: FrontAdapter,
        session: aiohttp.ClientSession,
        sink: EventSink,
        clock: Clock,
        attester: Callable[[Life], Attester | None],
    ) -> None:
        self._specs = specs
        self._attester = attester
        self._runner = runner
        self._fronts = fronts
        self._session = session
        self._sink = sink
        self._clock = clock
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
        teller = _Teller(life, report, self._sink, self._clock, self._remember)
        target = self._target(life, spec)
        needed = target.attester is not None and target.attester.needed
        asked = with_attestation(spec.probes) if needed else spec.probes
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

    async def close(self) -> None:
        """End all probes and wait for it."""
        for worker in tuple(self._sets):
            self.end(worker)
        await asyncio.gather(*self._ending, return_exceptions=True)

    def _remember(self, worker: str, view: ProbeView) -> ProbeView | None:
        views = self._views.setdefault(worker, {})
        before = views.get((view.stage, view.kind))
        views[view.stage, view.kind] = view
        self._shown.pop(worker, None)
        return before

    def _target(self, life: Life, spec: WorkerSpec) -> Target:
        worker = life.worker
        key = spec.env.get("VLLM_API_KEY")

        async def traffic() -> Traffic | None:
            stats = await self._fronts.stats(worker)
            if stats is None:
                return None
            return Traffic(stats.in_flight, stats.unanswered, stats.oldest_unanswered, stats.answered)

        return Target(
            worker=worker,
            incarnation=life.incarnation,
            leader=life.leader.pid,
            host=life.host,
            port=life.port,
            members=lambda: self._runner.members(worker, LOOK_AGE),
            model=spec.served_model_name or (worker if spec.pin is not None else None),
            traffic=traffic,
            log_path=self._runner.log_path(worker),
            attester=self._attester(life),
            headers={} if key is None else {"Authorization": f"Bearer {key}"},
        )


def with_attestation(spec: ProbesSpec) -> ProbesSpec:
    """The same, with a look at what the processes run before anything else that makes ready, unless there is one.

    One in another stage does not stand in for it: liveness is presumed, and startup is not asked again.
    """
    if any(isinstance(one, AttestationProbe) for one in spec.readiness):
        return spec
    return spec.model_copy(update={"readiness": (AttestationProbe(), *spec.readiness)})


class _Teller:
    """Implements the probes' ``Listener`` for one life."""

    def __init__(
        self,
        life: Life,
        report: Report,
        sink: EventSink,
        clock: Clock,
        remember: Callable[[str, ProbeView], ProbeView | None],
    ) -> None:
        self._life = life
        self._report = report
        self._sink = sink
        self._clock = clock
        self._remember = remember

    def result(self, stage: Stage, kind: str, outcome: Outcome) -> None:
        """Each ask, changed or not."""
        worker, verdict = self._life.worker, outcome.verdict.value
        view = ProbeView(stage.value, kind, verdict, outcome.summary, self._clock.monotonic())
        before = self._remember(worker, view)
        facts = {"stage": stage.value, "kind": kind, "verdict": verdict, "incarnation": self._life.incarnation}
        self._sink.emit("probe_result", worker, seconds=outcome.seconds, **facts)
        if before is None or before.verdict != verdict:
            self._sink.emit("probe_changed", worker, summary=outcome.summary, **facts)

    def weighed(self, kind: str, outcome: Outcome, *, good: bool) -> None:
        """Nobody draws consequences from wrong answers yet."""

    def startup_passed(self) -> None:
        """Once a life."""
        self._report(StartupPassed(self._clock.monotonic(), self._life.incarnation))

    def readiness(self, ok: bool, summary: str) -> None:
        """On change."""
        at, incarnation = self._clock.monotonic(), self._life.incarnation
        reason = Reason("not-ready", summary)
        self._report(ReadinessPassed(at, incarnation) if ok else ReadinessFailed(at, incarnation, reason))

    def liveness_failed(self, summary: str, evidence: Mapping[str, object]) -> None:
        """Once a life."""
        shown = json.dumps(evidence, default=str)[:EVIDENCE_LIMIT]
        worker, incarnation = self._life.worker, self._life.incarnation
        self._sink.emit("liveness_failed", worker, incarnation=incarnation, summary=summary, evidence=shown)
        self._report(LivenessFailed(self._clock.monotonic(), incarnation, Reason("hung", summary)))

    def progressed(self) -> None:
        """A start that is under way moves."""
        self._report(Progressed(self._clock.monotonic(), self._life.incarnation))
