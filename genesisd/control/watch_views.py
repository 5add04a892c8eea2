"""What the daemon tells about the upstream watch. Plain frozen data; ``wiring.watch_views`` makes it from the facts.

Wall times are seconds since the epoch, ages are seconds. A ref is text such as ``vllm#123``. What upstream did not
answer is ``unknown`` here, and then says why and since when: it is never shown as what was known before without that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

UNKNOWN = "unknown"
"""The state of a row that upstream never answered for, or not for longer than allowed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepView:
    """One sweep, going on or over.

    Attributes:
        id: in the ledger; 0 before it has one.
        kind: ``nightly``, ``hourly``, ``weekly`` or ``now``.
        window: which of the schedule's windows it stands for.
        started, finished: when; ``finished`` is None while it goes on.
        outcome: ``done``, ``partial`` or ``failed``; "" while it goes on.
        step: what it is at, for people; after the end a sentence that sums it up.
        of, at: how many steps it has, and how many are behind it.
        summary: numbers by name (rows, changed, unknown, opened, requests, ...).
    """

    id: int
    kind: str
    window: str = ""
    started: float
    finished: float | None = None
    outcome: str = ""
    step: str = ""
    at: int = 0
    of: int = 0
    summary: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduledView:
    """A kind of sweep: when it next begins (None: never) and when it last was done (None: never)."""

    kind: str
    due: float | None
    last: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchStatusView:
    """The watch in short.

    Attributes:
        watchlist: path of the file, or None where nothing is watched.
        rows: how many by state (``open``, ``closed``, ``merged``, ``unknown``).
        oldest: for how many seconds that row waits for an answer which has waited longest: since its newest one, or
            where there never was one since it was first asked about. None: there is no row.
        stale: rows whose facts are older than allowed.
        decisions: open ones by kind.
        urgent: open ones by urgency.
        limit, remaining, resets_at: what upstream lets us ask, as it last told.
        sweep: the one that goes on, or None.
        schedule: the kinds.
        recent: the newest sweeps that are over, newest first.
        troubles: what keeps it from knowing more: no mirror, no token, a file that cannot be read.
    """

    watchlist: str | None
    rows: Mapping[str, int] = field(default_factory=dict)
    oldest: float | None = None
    stale: int = 0
    decisions: Mapping[str, int] = field(default_factory=dict)
    urgent: Mapping[str, int] = field(default_factory=dict)
    limit: int | None = None
    remaining: int | None = None
    resets_at: float | None = None
    sweep: SweepView | None = None
    schedule: tuple[ScheduledView, ...] = ()
    recent: tuple[SweepView, ...] = ()
    troubles: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRowView:
    """One row of the watchlist beside what is known.

    Attributes:
        row: ``watch:vllm#1`` or ``sweep:vllm#1``.
        section: ``watch`` or ``sweep``.
        line: in the file.
        ref: what is watched.
        title: upstream's, or "".
        state: ``open``, ``closed``, ``merged`` or ``unknown``.
        claimed: what the file says; "" for a sweep row, which says nothing.
        checked_at: when upstream last answered, or None.
        unknown: why there is no fresh answer, else "".
        action: of a watch row, the trigger of a sweep row.
        severity, derived: ``P0`` to ``P3``, and whether it was not written but derived.
        patches: ids.
        in_pins: by pin id, what the pin has of it (``present``, ``absent``, ``changed``, ...).
        decisions: ids of the open ones.
        urgency: the highest of theirs; ``none`` without any.
    """

    row: str
    section: str
    line: int
    ref: str
    title: str = ""
    state: str = UNKNOWN
    claimed: str = ""
    checked_at: float | None = None
    unknown: str = ""
    action: str = ""
    severity: str = ""
    derived: bool = False
    patches: tuple[str, ...] = ()
    in_pins: Mapping[str, str] = field(default_factory=dict)
    decisions: tuple[int, ...] = ()
    urgency: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class PullView:
    """Upstream's newest answer about one pull request or issue; as ``watch.model.Pull``."""

    ref: str
    state: str
    checked_at: float
    is_issue: bool = False
    title: str = ""
    draft: bool = False
    base: str = ""
    head: str | None = None
    merge_commit: str | None = None
    merged_at: float | None = None
    closed_at: float | None = None
    updated_at: float | None = None
    labels: tuple[str, ...] = ()
    files: tuple[str, ...] | None = None
    now_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CollisionView:
    """What the pull request does to one edit; as ``watch.model.Collision``."""

    patch: str
    edit: str
    path: str
    before: int
    after: int
    place: str
    breaks: bool
    required: bool
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinFactsView:
    """What one pin has of it; ``collisions`` is None where they were not looked for."""

    pin: str
    slots: tuple[str, ...] = ()
    lineage: str = UNKNOWN
    how: str = ""
    lineage_evidence: str = ""
    content: str = UNKNOWN
    rung: str = "none"
    content_evidence: str = ""
    collisions: tuple[CollisionView, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """A decision and what became of it; as ``watch.decisions.KeptDecision``."""

    id: int
    kind: str
    standing: str
    row: str
    ref: str
    patches: tuple[str, ...] = ()
    pins: tuple[str, ...] = ()
    urgency: str = "none"
    severity: str = "P3"
    derived: bool = True
    reason: str = ""
    evidence: tuple[str, ...] = ()
    opened: float = 0.0
    seen: float = 0.0
    by: str = ""
    why: str = ""
    until: float | None = None
    revisit_when: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EditDossierView:
    """One edit beside upstream's; as ``watch.decisions.EditDossier``."""

    edit: str
    path: str
    ours: str
    upstreams: str
    covered: bool | None
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DossierView:
    """What must lie before a person who retires a patch; as ``watch.decisions.Dossier``."""

    patch: str
    ref: str
    pin: str
    outcome: str
    reason: str
    made_at: float
    edits: tuple[EditDossierView, ...] = ()
    tests: Mapping[str, str] = field(default_factory=dict)
    ran: tuple[str, ...] = ()
    """Of ``tests``, those that were run on the pin's files as they are now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedView:
    """All there is to know about one pull request.

    Attributes:
        ref: which.
        pull: the newest answer, however old, or None.
        unknown, unknown_at, unknown_text: why the newest question got no answer ("" and None where it got one).
        rows: that watch it.
        pins: what each has of it.
        decisions: about it, open or not, newest first.
        dossiers: about it, newest first, without their edits.
    """

    ref: str
    pull: PullView | None = None
    unknown: str = ""
    unknown_at: float | None = None
    unknown_text: str = ""
    rows: tuple[WatchRowView, ...] = ()
    pins: tuple[PinFactsView, ...] = ()
    decisions: tuple[DecisionView, ...] = ()
    dossiers: tuple[DossierView, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgottenView:
    """What was dropped of a pull request.

    Attributes:
        ref: which.
        answer: upstream's answer, or its failure to give one, was kept.
        pins: of so many pins it was known what they have of it.
        dossiers, diffs: how many there were.
    """

    ref: str
    answer: bool
    pins: int
    dossiers: int
    diffs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchWhyView:
    """Why a pull request stands as it does, in plain sentences."""

    ref: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportView:
    """A sweep's report. ``form`` is ``markdown`` or ``html``; ``path`` is where it was kept, or ""."""

    sweep: int
    at: float
    form: str
    text: str
    path: str = ""
