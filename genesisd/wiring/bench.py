"""Who hears what correctness probes say: the history, the metrics, the incident, and the judge."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from genesisd.clock import Clock
from genesisd.incidents.model import Recorded
from genesisd.judge.ladder import reaches
from genesisd.judge.model import Step
from genesisd.probes.model import Outcome, Stage, Verdict
from genesisd.probes.seat import Standing
from genesisd.store.history import ProbeHistory, ProbeRun
from genesisd.supervisor.ports import EventSink, Life
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.desk import JudgeDesk
from genesisd.wiring.goldens import BY_RECORDING
from genesisd.wiring.incidents import IncidentRecorder
from genesisd.wiring.patched import Patched
from genesisd.wiring.rollbacks import Rollbacks

KEPT_EVIDENCE = 20
"""Facts of an ask that the history keeps."""


@dataclass(slots=True)
class Bench:
    """Implements ``prober.Bench``."""

    specs: Callable[[], Mapping[str, WorkerSpec]]
    desk: JudgeDesk
    recorder: IncidentRecorder
    history: ProbeHistory
    metrics: Metrics
    sink: EventSink
    clock: Clock
    patched: Patched
    rollbacks: Rollbacks
    standings: Callable[[str], tuple[Standing, ...]]

    def asked(self, life: Life, kind: str, outcome: Outcome, standing: Standing) -> None:
        """Each ask, whatever came of it."""
        worker, stage, wall = life.worker, Stage.CORRECTNESS.value, self.clock.wall()
        self.history.append(
            ProbeRun(
                at=wall,
                worker=worker,
                kind=kind,
                stage=stage,
                verdict=outcome.verdict.value,
                summary=outcome.summary,
                incarnation=life.incarnation,
                seconds=outcome.seconds,
                tokens=outcome.tokens,
                evidence=dict(list(outcome.evidence.items())[:KEPT_EVIDENCE]),
            )
        )
        self.metrics.probe_standing(worker, stage, kind, standing.standing)
        self.metrics.probe_tokens(worker, kind, outcome.tokens)
        if outcome.verdict in {Verdict.SUCCESS, Verdict.FAILURE}:
            self.metrics.probe_conclusive(worker, stage, kind, wall)
        gone = outcome.verdict is Verdict.SKIPPED and kind in BY_RECORDING
        if gone and "trouble" not in outcome.evidence:  # else it is the engine that says that it cannot be asked
            self.desk.withdrawn(worker, life.incarnation, kind)

    def weighed(self, life: Life, kind: str, outcome: Outcome, *, good: bool) -> None:
        """Each yes and each no."""
        worker = life.worker
        facts = {"kind": kind, "good": good, "incarnation": life.incarnation, "summary": outcome.summary}
        self.sink.emit("probe_weighed", worker, **facts)
        if outcome.verdict is Verdict.FAILURE:
            self.recorder.asked(worker, recorded(kind, outcome))
        elif good:
            self.recorder.well(worker, kind)
        self.desk.weighed(worker, life.incarnation, kind, outcome.summary, good=good)
        if good:
            self._prove(life)

    def _prove(self, life: Life) -> None:
        """What runs is proven once everything that could order a restart was good for a while."""
        judged = self.desk.state(life.worker)
        spec = self.specs().get(life.worker)
        start = self.patched.running(life.worker, life.incarnation)
        if spec is None or start is None or judged.incarnation != life.incarnation or judged.ready_at is None:
            return
        long = self.clock.monotonic() - judged.ready_at >= spec.probes.judge.good_for
        if not long or judged.complaints or judged.step is not None:
            return
        serious = [one for one in self.standings(life.worker) if reaches(Step(str(one.spec.action)), Step.RESTART)]
        found = {one.standing for one in serious}
        if "good" in found and found <= {"good", "skipped"}:  # one that nobody could ask yet may be the one that is bad
            self.rollbacks.prove(life.worker, start)


def recorded(kind: str, outcome: Outcome) -> tuple[Recorded, ...]:
    """The ask that led to the verdict, so that it can be asked again."""
    if not outcome.exchanges:
        return (Recorded(kind, outcome.verdict.value, outcome.summary),)
    first = outcome.exchanges[0]
    return (
        Recorded(kind, outcome.verdict.value, outcome.summary, first.path, first.request, first.status, first.text),
    )
