"""The wire's words for correctness: probes, goldens, incidents, quarantine. See ``messages``.

Ages, periods and ``due`` are in seconds; ``at``, ``opened``, ``closed`` and ``recorded`` are seconds since the epoch.
"""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from genesisd.control.message import Answer, Wire

# --- requests -------------------------------------------------------------------------------------------------


class ProbeRunRequest(Wire):
    """Body of probes/KIND/run; ``timeout`` in seconds, at most a day."""

    timeout: float = Field(default=900.0, gt=0, le=86400)


class GoldenRequest(Wire):
    """Body of golden: patches by the case whose answer they change. A dry run compares and records nothing."""

    explain: dict[str, str] = Field(default_factory=dict, max_length=1000)
    dry_run: bool = False
    timeout: float = Field(default=7200.0, gt=0, le=86400)


class ReplayRequest(Wire):
    """Body of replay: whom to ask."""

    worker: str = Field(min_length=1, max_length=200)
    timeout: float = Field(default=900.0, gt=0, le=86400)


class ReleaseRequest(Wire):
    """Body of quarantine/release: a patch of one worker, or a card of the machine."""

    what: Literal["patch", "card"]
    name: str = Field(min_length=1, max_length=200)
    worker: str | None = Field(default=None, max_length=200)

    @model_validator(mode="after")
    def _whose(self) -> Self:
        if self.what == "patch" and self.worker is None:
            raise ValueError("a patch is quarantined for one worker: say which")
        if self.what == "card" and self.worker is not None:
            raise ValueError("a card is quarantined for all workers: name none")
        return self


# --- answers --------------------------------------------------------------------------------------------------


class ProbeStandingMessage(Wire):
    """One probe of one worker; no age means that it has not answered yet, no ``due`` that no ask is planned."""

    worker: str
    stage: str
    kind: str
    standing: str
    verdict: str
    summary: str
    age: float | None
    conclusive_age: float | None
    due: float | None
    period: float
    streak: int
    action: str
    tokens: int


class ProbesAnswer(Answer):
    """Answer of GET /v1/probes."""

    probes: list[ProbeStandingMessage]


class ProbeRunMessage(Wire):
    """One ask. Those of the past come without their exchanges."""

    worker: str
    kind: str
    verdict: str
    summary: str
    at: float
    incarnation: int
    stage: str
    seconds: float
    tokens: int
    evidence: dict[str, Any]
    exchanges: list[dict[str, Any]]


class ProbeRunAnswer(Answer):
    """Answer of POST /v1/workers/NAME/probes/KIND/run."""

    run: ProbeRunMessage


class ProbeHistoryAnswer(Answer):
    """Answer of GET /v1/workers/NAME/probes/history, newest first."""

    runs: list[ProbeRunMessage]


class GoldenAnswer(Answer):
    """Answer of POST /v1/workers/NAME/golden."""

    worker: str
    model: str
    pin: str
    build: str | None
    path: str
    cases: int
    reference: str | None
    differs: dict[str, str]
    recorded: float


class HappeningMessage(Wire):
    """One line of an incident."""

    at: float
    what: str
    text: str
    fields: dict[str, Any]


class IncidentMessage(Wire):
    """One incident. Lists leave ``happenings`` and ``recorded`` empty."""

    id: int
    worker: str
    incarnation: int
    opened: float
    closed: float | None
    cause: str
    title: str
    text: str
    build: str | None
    probes: list[str]
    evidence: str | None
    happenings: list[HappeningMessage]
    recorded: list[dict[str, Any]]


class IncidentsAnswer(Answer):
    """Answer of GET /v1/incidents, newest first."""

    incidents: list[IncidentMessage]


class IncidentAnswer(Answer):
    """Answer of GET /v1/incidents/ID."""

    incident: IncidentMessage


class WhyAnswer(Answer):
    """Answer of GET /v1/workers/NAME/why; ``incident`` is the one that the text tells of."""

    worker: str
    text: str
    incident: int | None


class ReplayMessage(Wire):
    """One recorded ask: what it said then, what it says now."""

    incident: int
    worker: str
    kind: str
    then: str
    now: str
    then_text: str
    now_text: str
    same: bool


class ReplayAnswer(Answer):
    """Answer of POST /v1/incidents/ID/replay."""

    replays: list[ReplayMessage]


class QuarantinedMessage(Wire):
    """A patch that a worker is started without, or a card that no worker is started on."""

    what: str
    name: str
    worker: str | None
    text: str
    at: float
    incident: int | None


class QuarantineAnswer(Answer):
    """Answer of GET /v1/quarantine and of POST /v1/quarantine/release."""

    quarantined: list[QuarantinedMessage]
