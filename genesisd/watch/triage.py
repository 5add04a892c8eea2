"""What follows from the facts about each row: decisions for people. Pure.

The table (``table``) gives every row one answer; alarms (``alarms``) come on top of it, whatever the row is for. Nothing
here retires or changes anything: the strongest decision asks a person to look at a dossier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from genesisd.watch import alarms
from genesisd.watch.answers import answer
from genesisd.watch.case import Case
from genesisd.watch.clusters import Race, clusters, proposals, race
from genesisd.watch.decisions import QUIET, Decision, DecisionKind, Urgency
from genesisd.watch.making import note
from genesisd.watch.model import AnchorFact, Known, PatchFact, PinFacts
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Row, Watchlist, WatchRow, row_id
from genesisd.watch.severity import written

_URGENCIES = tuple(Urgency)
_PRESSING = (
    DecisionKind.REGRESSION,
    DecisionKind.PAIR_GATE,
    DecisionKind.REANCHOR,
    DecisionKind.BACKPORT_WANTED,
    DecisionKind.RETIRE_CANDIDATE,
    DecisionKind.TRIAL,
    DecisionKind.BACKPORT_NOT_NEEDED,
    DecisionKind.CLUSTER_DECIDED,
    DecisionKind.TRIGGER_DEAD,
    DecisionKind.REVIEW,
    DecisionKind.STALE,
    DecisionKind.COOKBOOK,
    DecisionKind.NOTE,
)
"""Of two that are as urgent, which one speaks for the row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """All that triage of a list rests on.

    It holds what is known of every row, also where only some are decided: in a cluster one row's decision rests on
    the others' facts, and what a partial sweep did not ask is known from before.

    Attributes:
        known: what upstream said, by ref.
        pins: what each pin has, by ref.
        patches: the register, by proper id.
        find: the id that a name means, or None.
        anchors: of our patches on each pin.
        gates: decisions about pair gates (``gates.decisions``), for which no row stands.
        now: wall time.
        max_age: seconds after which an answer is too old.
    """

    known: Mapping[Ref, Known] = field(default_factory=dict)
    pins: Mapping[Ref, tuple[PinFacts, ...]] = field(default_factory=dict)
    patches: Mapping[str, PatchFact] = field(default_factory=dict)
    find: Callable[[str], str | None] = str
    anchors: tuple[AnchorFact, ...] = ()
    gates: tuple[Decision, ...] = ()
    now: float
    max_age: float


def triage(case: Case) -> tuple[Decision, ...]:
    """The decisions about one row, at least one, the most pressing first."""
    alarmed = tuple(alarms.about(case))
    made = tuple(_once((*alarmed, *(one for one in answer(case) if not _said(one, alarmed)))))
    telling = tuple(one for one in made if one.kind is not DecisionKind.NOTE)
    return tuple(sorted(telling or made, key=_pressing))


def triage_all(watchlist: Watchlist, grounds: Grounds, rows: Iterable[Row] | None = None) -> tuple[Decision, ...]:
    """The decisions about ``rows`` (None: all), in their order, then those that no row stands for.

    What several rows ask for is decided once, at the first of them; the others say so in a note. Each row has one
    decision at least.
    """
    cases = cases_of(watchlist, grounds, rows)
    taken: dict[str, str] = {}
    found: list[Decision] = []
    for case in cases:
        made = triage(case)
        new = tuple(one for one in made if taken.setdefault(one.key, case.id) == case.id)
        found += new or (_same(case, made, taken),)
    return (*found, *(one for one in grounds.gates if one.key not in taken))


def cases_of(watchlist: Watchlist, grounds: Grounds, rows: Iterable[Row] | None = None) -> tuple[Case, ...]:
    """One case for each of ``rows``; clusters are found over the whole list all the same."""
    races = tuple(race(one, grounds.known, grounds.pins) for one in clusters(watchlist, grounds.find))
    named = dict(_proposed(watchlist, grounds))
    grave = {row.upstream: told for row in watchlist.watch if (told := written(row)) is not None}
    every: tuple[Row, ...] = (*watchlist.watch, *watchlist.sweep)
    wanted = every if rows is None else rows
    return tuple(
        replace(_case(row, grounds, races), proposed=named.get(row_id(row), ()), severity=grave.get(row.upstream))
        for row in wanted
    )


def _proposed(watchlist: Watchlist, grounds: Grounds) -> Iterator[tuple[str, tuple[Ref, ...]]]:
    """Less what the patch itself carries, and what upstream calls an issue."""
    found: dict[str, dict[Ref, None]] = {}
    for one in proposals(watchlist, grounds.find):
        patch = grounds.patches.get(one.patch)
        carried = () if patch is None else patch.upstream
        new = (ref for ref in one.refs if ref not in carried and not _is_issue(grounds.known.get(ref)))
        found.setdefault(one.row, {}).update(dict.fromkeys(new))
    for row, refs in found.items():
        yield row, tuple(refs)


def _is_issue(known: Known | None) -> bool:
    return known is not None and known.pull is not None and known.pull.is_issue


def _case(row: Row, grounds: Grounds, races: Sequence[Race]) -> Case:
    fix = row.fix_upstream if isinstance(row, WatchRow) else None
    ids = row.patches if isinstance(row, WatchRow) else (*row.patches, *row.planned_ids)
    met = {name: grounds.find(name) for name in ids}
    proper = dict.fromkeys(id_ for id_ in met.values() if id_ in grounds.patches)
    return Case(
        row=row,
        known=grounds.known.get(row.upstream, Known(row.upstream)),
        pins=grounds.pins.get(row.upstream, ()),
        fix=None if fix is None else grounds.known.get(fix, Known(fix)),
        fix_pins=() if fix is None else grounds.pins.get(fix, ()),
        patches=tuple(grounds.patches[id_] for id_ in proper if id_ is not None),
        strangers=tuple(name for name, id_ in met.items() if id_ not in grounds.patches),
        register=grounds.patches,
        anchors=grounds.anchors,
        races=tuple(one for one in races if row.upstream in one.cluster.members),
        now=grounds.now,
        max_age=grounds.max_age,
    )


def _same(case: Case, made: Sequence[Decision], taken: Mapping[str, str]) -> Decision:
    first = made[0]
    other = taken[first.key]
    return note(case, f"{case.ref}: decided with {other} ({first.kind})", first.evidence)


def _said(one: Decision, alarmed: Iterable[Decision]) -> bool:
    """An alarm says it already, and better: which anchor, or that the race is over for which this one waits."""
    if one.kind is DecisionKind.TRIGGER_DEAD:
        return any(other.kind is DecisionKind.CLUSTER_DECIDED for other in alarmed)
    broken = {id_ for other in alarmed if other.kind is DecisionKind.REANCHOR for id_ in other.patches}
    return one.kind is DecisionKind.REANCHOR and broken.issuperset(one.patches)


def _once(made: Iterable[Decision]) -> Iterator[Decision]:
    """Each key once: what is told twice has the evidence of both."""
    by_key: dict[str, Decision] = {}
    for one in made:
        old = by_key.get(one.key)
        by_key[one.key] = one if old is None else _joined(old, one)
    yield from by_key.values()


def _joined(one: Decision, other: Decision) -> Decision:
    return replace(
        min(one, other, key=_pressing),
        pins=tuple(dict.fromkeys((*one.pins, *other.pins))),
        evidence=tuple(dict.fromkeys((*one.evidence, *other.evidence))),
    )


def _pressing(made: Decision) -> tuple[bool, int, int]:
    return made.kind in QUIET, _URGENCIES.index(made.urgency), _PRESSING.index(made.kind)
