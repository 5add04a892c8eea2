"""One incident: opened when something goes wrong with a worker, closed when it is right again. Plain data. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

CAUSES = (
    "host-oom", "cuda-oom", "illegal-memory-access", "cuda-error", "xid", "nccl", "kv-too-small", "kv-too-large",
    "engine-dead", "hung", "port-taken", "bad-config", "bad-weights", "bad-model", "bad-environment", "bad-build",
    "garbage-output", "orphaned-vram", "unkillable", "start-timeout", "startup-wedged", "killed", "crash", "unknown",
)  # fmt: skip
"""Why a worker died or is wrong. ``docs/incidents.md`` says what each means and what helps."""


@dataclass(frozen=True, slots=True)
class Happening:
    """Something within an incident: a symptom, or what was done. ``at`` is wall time.

    Attributes:
        what: ``probe``, ``exit``, ``liveness``, ``gate``, ``evidence``, ``restart``, ``rollback``, ``bisection``,
            ``quarantine``, ``hold``, ``alert``, ``ready``, ``order``, ``cured``.
        text: one sentence.
        fields: facts, fit for JSON.
    """

    at: float
    what: str
    text: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Recorded:
    """The ask of a probe that failed, so that it can be asked again: the request is the probe's own."""

    kind: str
    verdict: str
    summary: str
    path: str = ""
    request: Mapping[str, object] = field(default_factory=dict)
    status: int = 0
    text: str = ""


@dataclass(frozen=True, slots=True)
class Incident:
    """Everything about one.

    Attributes:
        id: grows, never used twice; 0 before the store gave one.
        incarnation: the life in which it began.
        opened, closed: wall time in seconds; ``closed`` is None while it goes on.
        cause: one of ``CAUSES``.
        title: a few words.
        text: one sentence: what was found, and what was expected.
        build: name of the build that ran, or None for the plain pin or where it is not known.
        probes: kinds that were bad in it.
        happenings: oldest first.
        recorded: asks that failed.
        evidence: folder of the bundle, or None.
    """

    worker: str
    incarnation: int
    opened: float
    cause: str
    title: str
    text: str
    id: int = 0
    closed: float | None = None
    build: str | None = None
    probes: tuple[str, ...] = ()
    happenings: tuple[Happening, ...] = ()
    recorded: tuple[Recorded, ...] = ()
    evidence: str | None = None
