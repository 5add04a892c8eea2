"""The series of one worker that tell whether its answers are right, and what is done where they are not.

A probe has one series for how it stands, not one for each word: with fourteen kinds more a worker would have sixty
series more that say 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from genesisd.probes.model import Stage
from genesisd.probes.spec import CorrectnessProbe, ProbesSpec
from genesisd.telemetry import names
from genesisd.telemetry.families import Family, Series
from genesisd.telemetry.names import one_of

_CORRECTNESS = str(Stage.CORRECTNESS)
_HOUR = 3600.0
_STEP_OF_EVENT = {
    "judge_restart": "restart",
    "judge_rollback": "rollback",
    "judge_bisect": "quarantine",
    "judge_hold": "hold",
}


class CorrectnessMetrics:
    """Sets the families in ``names.CORRECTNESS_FAMILIES``."""

    def __init__(self, series: Mapping[Family, Series]) -> None:
        self._series = series
        self._actions: dict[str, str] = {}
        self.judge(None)
        for step in names.STEPS:
            series[names.JUDGE_ACTIONS].inc(step, by=0)
        for cause in names.INCIDENT_CAUSES:
            series[names.INCIDENTS].inc(cause, by=0)
        for family in (names.INCIDENT_OPEN, names.PATCHES_QUARANTINED, names.BISECTING, names.GOLDEN_AT):
            series[family].set(0)
        series[names.ROLLED_BACK].set(0)
        series[names.BISECTION_RUNS].set(0)

    def configure(self, probes: ProbesSpec) -> None:
        """Take over a spec whose correctness stage is written out: other probes go, those that stay keep their values."""
        asked = probes.correctness or ()
        self._actions = {probe.kind: str(probe.action) for probe in asked if isinstance(probe, CorrectnessProbe)}
        others = {
            (str(stage), probe.kind) for stage in Stage if stage != _CORRECTNESS for probe in getattr(probes, stage)
        }
        self._forget(others | {(_CORRECTNESS, kind) for kind in self._actions})
        for kind in self._actions:
            self._series[names.PROBE_CONCLUSIVE].inc(_CORRECTNESS, kind, by=0)
            self._series[names.PROBE_TOKENS].inc(kind, by=0)
            self.standing(_CORRECTNESS, kind, self._stands(kind))
        self._series[names.PROBE_SHARE].set(probes.cost.share)
        self._series[names.PROBE_FLOOR].set(probes.cost.floor * _HOUR / probes.cost.window)

    def _forget(self, keep: set[tuple[str, str]]) -> None:
        for family in (names.PROBE_STANDING, names.PROBE_CONCLUSIVE):
            for labels in [one for one in self._series[family].values if one[:2] not in keep]:
                self._series[family].drop(*labels)
        for (kind,) in [one for one in self._series[names.PROBE_TOKENS].values if one[0] not in self._actions]:
            self._series[names.PROBE_TOKENS].drop(kind)

    def _stands(self, kind: str) -> str:
        known = (one for one in self._series[names.PROBE_STANDING].values if one[:2] == (_CORRECTNESS, kind))
        return next((standing for _, _, standing, _ in known), names.UNDECIDED)

    def standing(self, stage: str, kind: str, standing: str) -> None:
        """How a probe stands; takes the place of what was said of it before."""
        labels = (one_of(stage, names.STAGES), one_of(kind, names.PROBE_KINDS))
        action = self._actions.get(kind, "") if stage == _CORRECTNESS else ""
        now = (*labels, one_of(standing, names.STANDINGS, names.UNDECIDED), action)
        series = self._series[names.PROBE_STANDING]
        for old in [one for one in series.values if one[:2] == labels and one != now]:
            series.drop(*old)
        series.set(1, *now)

    def rest(self) -> None:
        """The worker is down for good: nobody gets its answers, right or wrong. A restart keeps what was last known."""
        for kind in self._actions:
            self.standing(_CORRECTNESS, kind, names.UNDECIDED)

    def conclusive(self, stage: str, kind: str, at: float) -> None:
        """A probe got a yes or a no at wall time ``at``; those of the other stages have their last success for that."""
        if stage == _CORRECTNESS and kind in self._actions:
            self._series[names.PROBE_CONCLUSIVE].set(round(at, 3), stage, kind)

    def tokens(self, kind: str, tokens: int) -> None:
        """An ask took so many tokens."""
        if kind in self._actions and tokens > 0:
            self._series[names.PROBE_TOKENS].inc(kind, by=tokens)

    def judge(self, step: str | None) -> None:
        """The highest step of the present episode, or None."""
        now = names.NO_STEP if step is None else step
        for one in names.JUDGE_STEPS:
            self._series[names.JUDGE_STEP].set(int(one == now), one)

    def count(self, family: Family, value: float) -> None:
        """A gauge without labels of its own is this now."""
        self._series[family].set(value)

    def event(self, kind: str, fields: Mapping[str, Any], wall: float) -> None:
        """Count what an event about this worker says."""
        match kind:
            case "judge_told":
                self._acted(fields.get("step"))
            case "judge_restart" | "judge_rollback" | "judge_bisect" | "judge_hold":
                self._acted(_STEP_OF_EVENT[kind])
            case "bisection_step":
                self._series[names.BISECTION_RUNS].inc()
            case "incident_opened":
                self._series[names.INCIDENTS].inc(one_of(fields.get("cause"), names.INCIDENT_CAUSES))
                self._series[names.INCIDENT_OPEN].set(1)
            case "incident_closed":
                self._series[names.INCIDENT_OPEN].set(0)
            case "golden_recorded":
                self._series[names.GOLDEN_AT].set(round(wall, 3))
            case _:
                pass

    def _acted(self, step: object) -> None:
        if str(step) in names.STEPS:
            self._series[names.JUDGE_ACTIONS].inc(str(step))


class CorrectnessTold:
    """The part of ``Metrics`` by which it is told how answers are. Workers that are not configured are ignored."""

    def _correctness(self, worker: str) -> CorrectnessMetrics | None:
        raise NotImplementedError

    def probe_standing(self, worker: str, stage: str, kind: str, standing: str) -> None:
        """How a probe stands: one of ``names.STANDINGS``."""
        if (found := self._correctness(worker)) is not None:
            found.standing(stage, kind, standing)

    def probe_conclusive(self, worker: str, stage: str, kind: str, at: float) -> None:
        """A probe got a yes or a no at wall time ``at``."""
        if (found := self._correctness(worker)) is not None:
            found.conclusive(stage, kind, at)

    def probe_tokens(self, worker: str, kind: str, tokens: int) -> None:
        """An ask of a correctness probe took so many tokens."""
        if (found := self._correctness(worker)) is not None:
            found.tokens(kind, tokens)

    def judge(self, worker: str, step: str | None) -> None:
        """The highest step of the judge's present episode (one of ``judge.model.Step``), or None."""
        if (found := self._correctness(worker)) is not None:
            found.judge(step)

    def quarantined(self, worker: str, count: int) -> None:
        """How many patches the worker is started without, by quarantine."""
        self._count(worker, names.PATCHES_QUARANTINED, count)

    def bisection(self, worker: str, *, running: bool) -> None:
        """Whether it is looked for the patch to blame."""
        self._count(worker, names.BISECTING, int(running))

    def rolled_back(self, worker: str, *, back: bool) -> None:
        """Whether the worker is started with an older build than is configured."""
        self._count(worker, names.ROLLED_BACK, int(back))

    def golden(self, worker: str, recorded: float | None) -> None:
        """Wall time at which the golden of the running build was recorded; None where there is none."""
        self._count(worker, names.GOLDEN_AT, round(recorded or 0.0, 3))

    def incident(self, worker: str, *, going_on: bool) -> None:
        """Whether an incident goes on: for those that an earlier daemon opened, since events tell of the others."""
        self._count(worker, names.INCIDENT_OPEN, int(going_on))

    def _count(self, worker: str, family: Family, value: float) -> None:
        if (found := self._correctness(worker)) is not None:
            found.count(family, value)
