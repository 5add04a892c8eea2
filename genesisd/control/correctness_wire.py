"""Writes the answers about correctness as JSON text. They are asked now and then, so that nothing is kept of them."""

from __future__ import annotations

from collections.abc import Iterable

from genesisd.control.correctness_views import (
    GoldenView,
    IncidentView,
    ProbeRunView,
    ProbeStandingView,
    QuarantinedView,
    ReplayView,
    WhyView,
)
from genesisd.control.jsontext import answer, plain, whole


def probes(views: Iterable[ProbeStandingView]) -> str:
    """Answer of GET /v1/probes."""
    return answer(probes=[plain(view) for view in views])


def probe_run(view: ProbeRunView) -> str:
    """Answer of POST /v1/workers/NAME/probes/KIND/run."""
    return answer(run=plain(view))


def probe_history(views: Iterable[ProbeRunView]) -> str:
    """Answer of GET /v1/workers/NAME/probes/history."""
    return answer(runs=[plain(view) for view in views])


def golden(view: GoldenView) -> str:
    """Answer of POST /v1/workers/NAME/golden."""
    return whole(view)


def incidents(views: Iterable[IncidentView]) -> str:
    """Answer of GET /v1/incidents."""
    return answer(incidents=[plain(view) for view in views])


def incident(view: IncidentView) -> str:
    """Answer of GET /v1/incidents/ID."""
    return answer(incident=plain(view))


def why(view: WhyView) -> str:
    """Answer of GET /v1/workers/NAME/why."""
    return whole(view)


def replays(views: Iterable[ReplayView]) -> str:
    """Answer of POST /v1/incidents/ID/replay."""
    return answer(replays=[plain(view) for view in views])


def quarantine(views: Iterable[QuarantinedView]) -> str:
    """Answer of GET /v1/quarantine and of POST /v1/quarantine/release."""
    return answer(quarantined=[plain(view) for view in views])
