"""Writes the answers about correctness as JSON text. They are asked now and then, so that nothing is kept of them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from genesisd.control.correctness_views import (
    GoldenView,
    IncidentView,
    ProbeRunView,
    ProbeStandingView,
    QuarantinedView,
    ReplayView,
    WhyView,
)
from genesisd.control.protocol import SCHEMA


def plain(value: object) -> object:
    """What JSON has words for. A number that is none, as a broken engine may give, becomes its name."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return value


def _answer(**told: Any) -> str:
    return json.dumps({"schema": SCHEMA} | told, separators=(",", ":"), default=str)


def _whole(view: object) -> str:
    told = plain(view)
    assert isinstance(told, dict)  # noqa: S101 - a dataclass becomes a dict
    return _answer(**told)


def probes(views: Iterable[ProbeStandingView]) -> str:
    """Answer of GET /v1/probes."""
    return _answer(probes=[plain(view) for view in views])


def probe_run(view: ProbeRunView) -> str:
    """Answer of POST /v1/workers/NAME/probes/KIND/run."""
    return _answer(run=plain(view))


def probe_history(views: Iterable[ProbeRunView]) -> str:
    """Answer of GET /v1/workers/NAME/probes/history."""
    return _answer(runs=[plain(view) for view in views])


def golden(view: GoldenView) -> str:
    """Answer of POST /v1/workers/NAME/golden."""
    return _whole(view)


def incidents(views: Iterable[IncidentView]) -> str:
    """Answer of GET /v1/incidents."""
    return _answer(incidents=[plain(view) for view in views])


def incident(view: IncidentView) -> str:
    """Answer of GET /v1/incidents/ID."""
    return _answer(incident=plain(view))


def why(view: WhyView) -> str:
    """Answer of GET /v1/workers/NAME/why."""
    return _whole(view)


def replays(views: Iterable[ReplayView]) -> str:
    """Answer of POST /v1/incidents/ID/replay."""
    return _answer(replays=[plain(view) for view in views])


def quarantine(views: Iterable[QuarantinedView]) -> str:
    """Answer of GET /v1/quarantine and of POST /v1/quarantine/release."""
    return _answer(quarantined=[plain(view) for view in views])
