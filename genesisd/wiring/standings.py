"""How a worker's probes stand, for people: those of the stages by their newest answer, those of the rounds by theirs."""

from __future__ import annotations

from collections.abc import Sequence

from genesisd.control.correctness_views import ProbeStandingView
from genesisd.control.views import ProbeView
from genesisd.probes.model import Stage, Verdict
from genesisd.probes.seat import Standing
from genesisd.supervisor.spec import WorkerSpec, probes_of

_WORDS = {Verdict.SUCCESS: "good", Verdict.FAILURE: "bad", Verdict.SKIPPED: "skipped"}


def standings(
    worker: str, spec: WorkerSpec, views: Sequence[ProbeView], rounds: Sequence[Standing], now: float
) -> list[ProbeStandingView]:
    """One line a probe, in the order of the stages and of the configuration."""
    asked = probes_of(spec)
    seen = {(one.stage, one.kind): one for one in views}
    stages = (Stage.STARTUP, Stage.READINESS, Stage.LIVENESS)
    lines = [
        _stage_line(worker, str(stage), probe.kind, probe.period, seen.get((str(stage), probe.kind)), now)
        for stage in stages
        for probe in getattr(asked, stage)
    ]
    known = {one.kind: one for one in rounds}
    for probe in asked.correctness or ():
        standing = known.get(probe.kind)
        fresh = ProbeStandingView(
            worker, str(Stage.CORRECTNESS), probe.kind, "undecided", period=probe.period, action=str(probe.action)
        )
        lines.append(fresh if standing is None else _round_line(worker, standing, now))
    return lines


def _stage_line(
    worker: str, stage: str, kind: str, period: float, view: ProbeView | None, now: float
) -> ProbeStandingView:
    if view is None or view.at is None:
        return ProbeStandingView(worker, stage, kind, "undecided", period=period)
    age = max(0.0, now - view.at)
    word = _WORDS.get(Verdict(view.verdict), "undecided")
    conclusive = age if word in {"good", "bad"} else None
    return ProbeStandingView(worker, stage, kind, word, view.verdict, view.summary, age, conclusive, None, period)


def _round_line(worker: str, one: Standing, now: float) -> ProbeStandingView:
    outcome = one.outcome
    return ProbeStandingView(
        worker=worker,
        stage=str(Stage.CORRECTNESS),
        kind=one.kind,
        standing=one.standing,
        verdict="" if outcome is None else outcome.verdict.value,
        summary="" if outcome is None else outcome.summary,
        age=_since(one.asked, now),
        conclusive_age=_since(one.answered, now),
        due=None if one.due is None else max(0.0, one.due - now),
        period=one.spec.period,
        streak=one.streak,
        action=str(one.spec.action),
        tokens=one.tokens,
    )


def _since(at: float | None, now: float) -> float | None:
    return None if at is None else max(0.0, now - at)
