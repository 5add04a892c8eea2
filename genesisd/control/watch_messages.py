"""The wire's words for the upstream watch. See ``messages``; ``watch_views`` says what each field means.

Times are seconds since the epoch; ``oldest`` is an age in seconds.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from genesisd.control.message import Answer, Wire

Ref = Annotated[str, StringConstraints(min_length=2, max_length=200)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
Words = Annotated[str, StringConstraints(max_length=2000, strip_whitespace=True)]
Predicate = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]

# --- requests -------------------------------------------------------------------------------------------------


class SweepRequest(Wire):
    """Body of watch/sweep: all rows, those of P0 and P1, or all with nothing taken from what was kept."""

    kind: Literal["nightly", "hourly", "weekly"] = "nightly"


class AcceptRequest(Wire):
    """Body of accept."""

    why: Words = ""


class DeclineRequest(Wire):
    """Body of decline. Without a reason nobody knows later whether it still holds."""

    why: Words = Field(min_length=1)
    revisit_when: tuple[Predicate, ...] = Field(default=(), max_length=20)


class SnoozeRequest(Wire):
    """Body of snooze."""

    until: float = Field(gt=0, le=1e11)
    why: Words = ""


class DossiersRequest(Wire):
    """Body of watch/dossiers; ``timeout`` in seconds."""

    ref: Ref
    patch: Name | None = None
    pin: Name | None = None
    anew: bool = False
    timeout: float = Field(default=600.0, gt=0, le=86400)


class ForgetRequest(Wire):
    """Body of watch/forget."""

    ref: Ref


# --- answers --------------------------------------------------------------------------------------------------


class SweepMessage(Wire):
    """One sweep."""

    id: int
    kind: str
    window: str
    started: float
    finished: float | None
    outcome: str
    step: str
    at: int
    of: int
    summary: dict[str, Any]


class ScheduledMessage(Wire):
    """When a kind of sweep is due, and when it last was done."""

    kind: str
    due: float | None
    last: float | None


class WatchStatusAnswer(Answer):
    """Answer of GET /v1/watch; no ``watchlist`` means that nothing is watched."""

    watchlist: str | None
    rows: dict[str, int]
    oldest: float | None
    stale: int
    decisions: dict[str, int]
    urgent: dict[str, int]
    limit: int | None
    remaining: int | None
    resets_at: float | None
    sweep: SweepMessage | None
    schedule: list[ScheduledMessage]
    recent: list[SweepMessage]
    troubles: list[str]


class WatchRowMessage(Wire):
    """One row of the watchlist beside what is known."""

    row: str
    section: str
    line: int
    ref: str
    title: str
    state: str
    claimed: str
    checked_at: float | None
    unknown: str
    action: str
    severity: str
    derived: bool
    patches: list[str]
    in_pins: dict[str, str]
    decisions: list[int]
    urgency: str


class WatchRowsAnswer(Answer):
    """Answer of GET /v1/watch/rows, in the order of the file."""

    rows: list[WatchRowMessage]


class PullMessage(Wire):
    """Upstream's newest answer about one pull request or issue."""

    ref: str
    state: str
    checked_at: float
    is_issue: bool
    title: str
    draft: bool
    base: str
    head: str | None
    merge_commit: str | None
    merged_at: float | None
    closed_at: float | None
    updated_at: float | None
    labels: list[str]
    files: list[str] | None
    now_at: str | None


class CollisionMessage(Wire):
    """What the pull request does to one edit."""

    patch: str
    edit: str
    path: str
    before: int
    after: int
    place: str
    breaks: bool
    required: bool
    text: str


class PinFactsMessage(Wire):
    """What one pin has of it; no ``collisions`` means that they were not looked for."""

    pin: str
    slots: list[str]
    lineage: str
    how: str
    lineage_evidence: str
    content: str
    rung: str
    content_evidence: str
    collisions: list[CollisionMessage] | None


class DecisionMessage(Wire):
    """A decision, and what became of it."""

    id: int
    kind: str
    standing: str
    row: str
    ref: str
    patches: list[str]
    pins: list[str]
    urgency: str
    severity: str
    derived: bool
    reason: str
    evidence: list[str]
    opened: float
    seen: float
    by: str
    why: str
    until: float | None
    revisit_when: list[str]


class DecisionsAnswer(Answer):
    """Answer of GET /v1/watch/decisions, by urgency."""

    decisions: list[DecisionMessage]


class DecisionAnswer(Answer):
    """Answer of POST /v1/watch/decisions/ID/accept, decline and snooze."""

    decision: DecisionMessage


class EditDossierMessage(Wire):
    """One edit beside upstream's; ``covered`` is null where it cannot be told."""

    edit: str
    path: str
    ours: str
    upstreams: str
    covered: bool | None
    text: str


class DossierMessage(Wire):
    """What must lie before a person who retires a patch."""

    patch: str
    ref: str
    pin: str
    outcome: str
    reason: str
    made_at: float
    edits: list[EditDossierMessage]
    tests: dict[str, str]
    ran: list[str]


class DossiersAnswer(Answer):
    """Answer of POST /v1/watch/dossiers."""

    dossiers: list[DossierMessage]


class WatchedAnswer(Answer):
    """Answer of GET /v1/watch/pull. Its dossiers come without their edits."""

    ref: str
    pull: PullMessage | None
    unknown: str
    unknown_at: float | None
    unknown_text: str
    rows: list[WatchRowMessage]
    pins: list[PinFactsMessage]
    decisions: list[DecisionMessage]
    dossiers: list[DossierMessage]


class WatchWhyAnswer(Answer):
    """Answer of GET /v1/watch/why."""

    ref: str
    text: str


class ReportAnswer(Answer):
    """Answer of GET /v1/watch/report."""

    sweep: int
    at: float
    form: str
    text: str
    path: str


class SweepAnswer(Answer):
    """Answer of POST /v1/watch/sweep, and each line of GET /v1/watch/progress."""

    sweep: SweepMessage


class ForgottenMessage(Wire):
    """What was dropped of a pull request: the answer about it or none, and how many of each."""

    ref: str
    answer: bool
    pins: int
    dossiers: int
    diffs: int


class ForgottenAnswer(Answer):
    """Answer of POST /v1/watch/forget."""

    forgotten: ForgottenMessage
