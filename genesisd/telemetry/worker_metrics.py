"""The series of one worker."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genesisd.clock import Clock
from genesisd.probes.model import Stage
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import FrontStats
from genesisd.supervisor.spec import WorkerSpec, probes_of
from genesisd.telemetry import names
from genesisd.telemetry.correctness_metrics import CorrectnessMetrics
from genesisd.telemetry.families import Family, Histogram, Kind, Series
from genesisd.telemetry.names import one_of
from genesisd.telemetry.patch_metrics import PatchMetrics


def seconds_of(value: object) -> float | None:
    """A non-negative number, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return float(value)


class WorkerMetrics:
    """Made when the worker is configured, dropped with it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.series: dict[Family, Series] = {}
        self._budget = 0
        self._window = 0.0
        self._restarts: tuple[float, ...] = ()
        for family in names.WORKER_FAMILIES:
            if family not in names.FRONT_FAMILIES:
                self._add(family)
        for family in (names.PHASE_SINCE, names.WANTED, names.READY, names.INCARNATION, names.SHIM_LOSSES):
            self._set(family, 0)
        self._phase(Phase.STOPPED)
        for cause in names.RESTART_CAUSES:
            self._set(names.RESTARTS, 0, cause)
        for cause in names.EXIT_CAUSES:
            self._set(names.EXITS, 0, cause)
        self.patches = PatchMetrics(self.series)
        self.correctness = CorrectnessMetrics(self.series)

    def _add(self, family: Family) -> None:
        make = Histogram if family.kind is Kind.HISTOGRAM else Series
        self.series[family] = make(family, self.name)

    def _set(self, family: Family, value: float, *labels: str) -> None:
        self.series[family].set(value, *labels)

    def configure(self, spec: WorkerSpec) -> None:
        """Take over a spec, the first or a changed one."""
        self._budget, self._window = spec.restart.budget, spec.restart.window
        self._set(names.BUDGET, self._budget - len(self._restarts))
        self._configure_front(spec)
        asked = probes_of(spec)
        probes = {(stage, probe.kind): probe.period for stage in names.STAGES for probe in getattr(asked, stage)}
        self._forget_probes(probes)
        for (stage, kind), period in probes.items():
            judged = stage == Stage.CORRECTNESS
            self._set(names.PROBE_PERIOD, period, stage, kind)
            for family in (names.PROBE_DURATION,) if judged else (names.PROBE_DURATION, names.PROBE_SUCCESS):
                self.series[family].inc(stage, kind, by=0)
            for verdict in (*names.VERDICTS, names.SKIPPED) if judged else names.VERDICTS:
                self.series[names.PROBE_RESULTS].inc(stage, kind, verdict, by=0)
        self.correctness.configure(asked)

    def _configure_front(self, spec: WorkerSpec) -> None:
        for family in names.FRONT_FAMILIES:
            if not (spec.front.enabled and spec.listen is not None):
                self.series.pop(family, None)
            elif family not in self.series:
                self._add(family)
                self._set(family, 0)

    def _forget_probes(self, keep: Mapping[tuple[str, str], float]) -> None:
        for family in (names.PROBE_PERIOD, names.PROBE_DURATION, names.PROBE_SUCCESS, names.PROBE_RESULTS):
            series = self.series[family]
            for labels in [one for one in series.values if one[:2] not in keep and names.OTHER not in one]:
                series.drop(*labels)

    def _phase(self, phase: str) -> None:
        for one in names.PHASES:
            self._set(names.PHASE, int(one == phase), one)
        self._set(names.READY, int(phase == Phase.READY))

    def state(self, state: WorkerState, clock: Clock) -> None:
        """Everything that a state says."""
        self._phase(state.phase)
        self._set(names.WANTED, int(state.wanted))
        self._set(names.INCARNATION, state.incarnation)
        self._set(names.PHASE_SINCE, round(clock.wall() - clock.monotonic() + state.since, 3))
        self._restarts = state.restarts
        self.refresh(clock.monotonic())
        if state.phase in {Phase.STOPPED, Phase.FAILED}:
            self.correctness.rest()

    def refresh(self, at: float) -> None:
        """Restarts leave the window as time passes."""
        spent = sum(1 for one in self._restarts if one > at - self._window)
        self._set(names.BUDGET, max(0, self._budget - spent))

    def front(self, stats: FrontStats | None) -> None:
        """What the front counted; None when it did not answer."""
        if names.FRONT_UP not in self.series:
            return
        self._set(names.FRONT_UP, int(stats is not None))
        if stats is None:
            return
        self._set(names.FRONT_OPEN, stats.open)
        self._set(names.FRONT_IN_FLIGHT, stats.in_flight)
        self._set(names.FRONT_UNANSWERED, stats.unanswered)
        self._set(names.FRONT_HELD, stats.held)
        self._set(names.FRONT_ANSWERED, stats.answered)
        self._set(names.FRONT_REFUSED, stats.refused)
        self._set(names.FRONT_OLDEST, stats.oldest_unanswered)

    def event(self, kind: str, fields: Mapping[str, Any], wall: float) -> None:
        """Count what an event about this worker says."""
        match kind:
            case "worker_exited":
                self.series[names.EXITS].inc(one_of(fields.get("cause"), names.EXIT_CAUSES))
            case "worker_restart":
                cause = "spawn-failed" if str(fields.get("cause")).startswith("spawn-") else fields.get("cause")
                self.series[names.RESTARTS].inc(one_of(cause, names.RESTART_CAUSES))
            case "worker_ready":
                self._started(seconds_of(fields.get("seconds")))
            case "shim_lost":
                self.series[names.SHIM_LOSSES].inc()
            case "probe_result":
                self._probed(fields, wall)
            case _:
                self.correctness.event(kind, fields, wall)

    def _started(self, seconds: float | None) -> None:
        start = self.series[names.START]
        if seconds is not None and isinstance(start, Histogram):
            start.observe(seconds)

    def _probed(self, fields: Mapping[str, Any], wall: float) -> None:
        stage = one_of(fields.get("stage"), names.STAGES)
        kind = one_of(fields.get("kind"), names.PROBE_KINDS)
        verdict = one_of(fields.get("verdict"), (*names.VERDICTS, names.SKIPPED))
        self.series[names.PROBE_RESULTS].inc(stage, kind, verdict)
        if (seconds := seconds_of(fields.get("seconds"))) is not None:
            self._set(names.PROBE_DURATION, seconds, stage, kind)
        if verdict == "success" and stage != Stage.CORRECTNESS:
            self._set(names.PROBE_SUCCESS, round(wall, 3), stage, kind)
