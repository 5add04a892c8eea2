"""What the daemon tells about correctness: probes, incidents, goldens, quarantine. Plain frozen data.

Wall times are seconds since the epoch; ages are made from monotonic ones by whoever fills these in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ProbeStandingView:
    """One probe of one worker.

    Attributes:
        stage: ``startup``, ``readiness``, ``liveness`` or ``correctness``.
        standing: ``good``, ``bad``, ``undecided`` (nothing conclusive yet), ``skipped``.
        verdict, summary: of the newest ask; "" before the first.
        age: seconds since the newest ask, or None before it.
        conclusive_age: seconds since the newest yes or no, or None.
        due: seconds until the next ask, or None where it is not planned.
        period: seconds.
        streak: equal answers in a row.
        action: how far the judge may go for it; "" for the other stages.
        tokens: what it cost in this life.
    """

    worker: str
    stage: str
    kind: str
    standing: str
    verdict: str = ""
    summary: str = ""
    age: float | None = None
    conclusive_age: float | None = None
    due: float | None = None
    period: float = 0.0
    streak: int = 0
    action: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class ProbeRunView:
    """One ask, now or in the past; ``at`` is wall time. ``exchanges`` is empty for one of the past."""

    worker: str
    kind: str
    verdict: str
    summary: str
    at: float
    incarnation: int = 0
    stage: str = "correctness"
    seconds: float = 0.0
    tokens: int = 0
    evidence: Mapping[str, object] = field(default_factory=dict)
    exchanges: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class GoldenView:
    """What was recorded."""

    worker: str
    model: str
    pin: str
    build: str | None
    path: str
    cases: int
    reference: str | None
    differs: Mapping[str, str] = field(default_factory=dict)
    recorded: float = 0.0


@dataclass(frozen=True, slots=True)
class HappeningView:
    """One line of an incident; ``at`` is wall time."""

    at: float
    what: str
    text: str
    fields: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IncidentView:
    """One incident. ``happenings`` and ``recorded`` are left out in lists."""

    id: int
    worker: str
    incarnation: int
    opened: float
    closed: float | None
    cause: str
    title: str
    text: str
    build: str | None = None
    probes: tuple[str, ...] = ()
    evidence: str | None = None
    happenings: tuple[HappeningView, ...] = ()
    recorded: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class WhyView:
    """Why a worker is as it is, in one paragraph; ``incident`` is the id that it tells of, or None."""

    worker: str
    text: str
    incident: int | None = None


@dataclass(frozen=True, slots=True)
class ReplayView:
    """A recorded ask, asked again of a worker: what it said then, what it says now."""

    incident: int
    worker: str
    kind: str
    then: str
    now: str
    then_text: str
    now_text: str
    same: bool


@dataclass(frozen=True, slots=True)
class QuarantinedView:
    """A patch that a worker is started without, or a card that no worker is started on. ``at`` is wall time.

    ``what`` is ``patch`` or ``card``; ``name`` the patch id or the card's index; ``worker`` is None for a card.
    """

    what: str
    name: str
    worker: str | None
    text: str
    at: float
    incident: int | None = None
