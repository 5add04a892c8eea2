"""What the watch knows, as the control socket shows it. Pure translation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property

from genesisd.control.watch_views import (
    UNKNOWN,
    CollisionView,
    DecisionView,
    DossierView,
    EditDossierView,
    PinFactsView,
    PullView,
    SweepView,
    WatchedView,
    WatchRowView,
)
from genesisd.store.watch_ledger import SweepRecord
from genesisd.watch.case import Case
from genesisd.watch.decisions import QUIET, Dossier, KeptDecision, Standing, Urgency
from genesisd.watch.making import rated
from genesisd.watch.model import Collision, Known, PatchFact, PinFacts, Pull
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Row, Severity, Watchlist, WatchRow, row_id
from genesisd.watch.severity import Rated, written

_URGENCIES = tuple(Urgency)


@dataclass(frozen=True, kw_only=True)
class Looked:
    """All that is kept of the watch at one moment.

    Attributes:
        watchlist: as the file reads now, or None.
        trouble: why it cannot be read, or "".
        known: by ref.
        facts: of the newest look at the pins, by ref.
        kept: every decision.
        patches: by id.
        asked: since when each ref is asked about, wall time by its text.
        find: the id that a name of a patch means, or None.
    """

    watchlist: Watchlist | None = None
    trouble: str = ""
    known: Mapping[Ref, Known] = field(default_factory=dict)
    facts: Mapping[Ref, tuple[PinFacts, ...]] = field(default_factory=dict)
    kept: tuple[KeptDecision, ...] = ()
    patches: Mapping[str, PatchFact] = field(default_factory=dict)
    asked: Mapping[str, float] = field(default_factory=dict)
    find: Callable[[str], str | None] = str

    @cached_property
    def written(self) -> Mapping[Ref, Severity]:
        """The severities that people gave, by pull request."""
        watched = () if self.watchlist is None else self.watchlist.watch
        return {row.upstream: told for row in watched if (told := written(row)) is not None}

    def waits_since(self, ref: Ref, now: float) -> float:
        """Since when an answer about ``ref`` is waited for: its newest one, else the first question, else now."""
        age = self.known[ref].age(now) if ref in self.known else None
        return min(now, self.asked.get(str(ref), now)) if age is None else now - age

    def stale(self, now: float, max_age: float) -> tuple[Row, ...]:
        """Rows that have waited for longer than allowed. One that nobody has asked about yet is not stale."""
        return tuple(row for row in self.rows() if now - self.waits_since(row.upstream, now) > max_age)

    def rows(self) -> tuple[Row, ...]:
        """In the order of the file."""
        return () if self.watchlist is None else (*self.watchlist.watch, *self.watchlist.sweep)

    def open(self) -> tuple[KeptDecision, ...]:
        """Decisions that wait for a person."""
        return tuple(one for one in self.kept if one.standing is Standing.OPEN and one.decision.kind not in QUIET)


def is_stale(known: Known | None, now: float, max_age: float) -> bool:
    """Whether upstream last answered longer ago than allowed, or never."""
    age = None if known is None else known.age(now)
    return age is None or age > max_age


def rows(looked: Looked, now: float, max_age: float) -> tuple[WatchRowView, ...]:
    """One each."""
    return tuple(_row(row, looked, now, max_age) for row in looked.rows())


def by_state(views: Iterable[WatchRowView]) -> dict[str, int]:
    """How many rows stand how."""
    return dict(Counter(view.state for view in views))


def _row(row: Row, looked: Looked, now: float, max_age: float) -> WatchRowView:
    known = looked.known.get(row.upstream)
    pull = None if known is None else known.pull
    open_here = [one for one in looked.open() if one.decision.row == row_id(row)]
    rated = _rated(row, looked)
    watched = isinstance(row, WatchRow)
    return WatchRowView(
        row=row_id(row),
        section="watch" if watched else "sweep",
        line=row.line,
        ref=str(row.upstream),
        title="" if pull is None else pull.title,
        state=UNKNOWN if pull is None or is_stale(known, now, max_age) else str(pull.state),
        claimed=str(row.status) if isinstance(row, WatchRow) else "",
        checked_at=None if pull is None else pull.checked_at,
        unknown=_unknown(known, now, max_age),
        action=str(row.action if isinstance(row, WatchRow) else row.trigger),
        severity=str(rated.severity),
        derived=rated.derived,
        patches=row.patches,
        in_pins={one.pin: str(one.content.content) for one in looked.facts.get(row.upstream, ())},
        decisions=tuple(one.id for one in open_here),
        urgency=str(min((one.decision.urgency for one in open_here), key=_URGENCIES.index, default=Urgency.NONE)),
    )


def _rated(row: Row, looked: Looked) -> Rated:
    """As its decisions are: by what is written of the pull request in either section, and else by what the row binds."""
    names = row.patches if isinstance(row, WatchRow) else (*row.patches, *row.planned_ids)
    ids = dict.fromkeys(found for name in names if (found := looked.find(name)) is not None)
    case = Case(
        row=row,
        known=looked.known.get(row.upstream, Known(row.upstream)),
        patches=tuple(looked.patches[one] for one in ids if one in looked.patches),
        severity=looked.written.get(row.upstream),
        now=0.0,
        max_age=0.0,
    )
    return rated(case)


def _unknown(known: Known | None, now: float, max_age: float) -> str:
    if known is not None and known.unknown is not None:
        return f"{known.unknown.why}: {known.unknown.text}" if known.unknown.text else str(known.unknown.why)
    if known is None or known.pull is None:
        return "never asked"
    return "not asked for longer than allowed" if is_stale(known, now, max_age) else ""


def watched(ref: Ref, looked: Looked, dossiers: Iterable[Dossier], now: float, max_age: float) -> WatchedView:
    """All about one pull request."""
    known = looked.known.get(ref)
    unknown = None if known is None else known.unknown
    return WatchedView(
        ref=str(ref),
        pull=None if known is None or known.pull is None else pull_view(known.pull),
        unknown="" if unknown is None else str(unknown.why),
        unknown_at=None if unknown is None else unknown.at,
        unknown_text="" if unknown is None else unknown.text,
        rows=tuple(_row(row, looked, now, max_age) for row in looked.rows() if row.upstream == ref),
        pins=tuple(pin_facts(one) for one in looked.facts.get(ref, ())),
        decisions=tuple(
            decision(one) for one in sorted(looked.kept, key=lambda one: -one.id) if one.decision.ref == ref
        ),
        dossiers=tuple(
            dossier(one, whole=False, facts=looked.facts.get(ref, ())) for one in dossiers if one.ref == ref
        ),
    )


def pull_view(pull: Pull) -> PullView:
    """Upstream's answer."""
    return PullView(
        ref=str(pull.ref),
        state=str(pull.state),
        checked_at=pull.checked_at,
        is_issue=pull.is_issue,
        title=pull.title,
        draft=pull.draft,
        base=pull.base,
        head=pull.head,
        merge_commit=pull.merge_commit,
        merged_at=pull.merged_at,
        closed_at=pull.closed_at,
        updated_at=pull.updated_at,
        labels=pull.labels,
        files=pull.files,
        now_at=None if pull.now_at is None else str(pull.now_at),
    )


def pin_facts(facts: PinFacts) -> PinFactsView:
    """What one pin has."""
    met = facts.collisions
    return PinFactsView(
        pin=facts.pin,
        slots=facts.slots,
        lineage=str(facts.lineage.lineage),
        how=facts.lineage.how,
        lineage_evidence=facts.lineage.evidence,
        content=str(facts.content.content),
        rung=str(facts.content.rung),
        content_evidence=facts.content.evidence,
        collisions=None if met is None else tuple(map(_collision, met)),
    )


def _collision(one: Collision) -> CollisionView:
    return CollisionView(**{**asdict(one), "place": str(one.place)})


def decisions(kept: Sequence[KeptDecision]) -> tuple[DecisionView, ...]:
    """By urgency, the oldest of each first."""
    order = sorted(kept, key=lambda one: (_URGENCIES.index(one.decision.urgency), one.id))
    return tuple(map(decision, order))


def decision(kept: KeptDecision) -> DecisionView:
    """One, with what became of it."""
    made = kept.decision
    return DecisionView(
        id=kept.id,
        kind=str(made.kind),
        standing=str(kept.standing),
        row=made.row,
        ref=str(made.ref),
        patches=made.patches,
        pins=made.pins,
        urgency=str(made.urgency),
        severity=made.severity,
        derived=made.derived,
        reason=made.reason,
        evidence=made.evidence,
        opened=kept.opened,
        seen=kept.seen,
        by=kept.by,
        why=kept.why,
        until=kept.until,
        revisit_when=kept.revisit_when,
    )


def dossier(one: Dossier, *, whole: bool, facts: Iterable[PinFacts] = ()) -> DossierView:
    """Without its edits unless ``whole``: they are long. By ``facts`` it is known whether its pin is still the same."""
    now = {fact.pin: fact.of for fact in facts}
    edits = tuple(EditDossierView(**asdict(edit)) for edit in one.edits) if whole else ()
    return DossierView(
        patch=one.patch,
        ref=str(one.ref),
        pin=one.pin,
        outcome=str(one.outcome),
        reason=one.reason,
        made_at=one.made_at,
        edits=edits,
        tests=one.tests,
        ran=one.ran if now.get(one.pin, one.of) == one.of else (),
    )


def swept(record: SweepRecord) -> SweepView:
    """One that is over."""
    step = str(record.summary.get("text") or "")
    return SweepView(
        id=record.id,
        kind=record.kind,
        window=record.window,
        started=record.started,
        finished=record.finished,
        outcome=record.outcome or "",
        step=step,
        summary=record.summary,
    )
