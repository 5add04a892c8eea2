"""Cases for triage, put together from a few words."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from genesisd.watch.case import Case, Subject
from genesisd.watch.model import (
    AnchorFact,
    Collision,
    Content,
    ContentFact,
    Known,
    Lineage,
    LineageFact,
    PatchFact,
    PinFacts,
    Place,
    Pull,
    Rung,
    State,
    Unanswered,
    WhyUnknown,
)
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.rows import Action, Detection, SweepRow, Trigger, WatchRow
from genesisd.watch.situation import Situation

NOW = 1_790_000_000.0
DAY = 86400.0
MAX_AGE = 2 * DAY
REF, FIX, RIVAL, OTHER = (Ref(UPSTREAM, number) for number in (1001, 1002, 1003, 1004))
CURRENT, CANDIDATE, ROLLBACK = "0.24.0", "0.25.0", "0.23.0"

PRESENT = ContentFact(Content.PRESENT, Rung.REVERSE_APPLY, "vllm/a.py:10")
ABSENT = ContentFact(Content.ABSENT, Rung.REVERSE_APPLY, "vllm/a.py:10 is as before")
CHANGED = ContentFact(Content.CHANGED, Rung.MARKERS, "rewritten")
UNKNOWN = ContentFact()


def pull(state: State = State.MERGED, ref: Ref = REF, **more) -> Pull:
    """An answer of an hour ago."""
    stamps = {
        State.MERGED: {"merged_at": NOW - 30 * DAY, "merge_commit": "0cd9b7af25ffff"},
        State.CLOSED: {"closed_at": NOW - 9 * DAY},
    }
    return Pull(**({"ref": ref, "state": state, "checked_at": NOW - 3600} | stamps.get(state, {}) | more))


def known(state: State | None = State.MERGED, ref: Ref = REF, **more) -> Known:
    """What is known of ``ref``; None: upstream could not be asked."""
    if state is None:
        return Known(ref, None, Unanswered(ref, WhyUnknown.OUTAGE, NOW - 60))
    return Known(ref, pull(state, ref, **more))


def pin(
    content: ContentFact = UNKNOWN,
    slot: str = "current",
    lineage: Lineage = Lineage.UNKNOWN,
    collisions: tuple[Collision, ...] | None = None,
) -> PinFacts:
    """The pin of ``slot``."""
    names = {"current": CURRENT, "candidate": CANDIDATE, "rollback": ROLLBACK}
    how = "merge-base" if lineage is not Lineage.UNKNOWN else ""
    return PinFacts(
        pin=names.get(slot, slot),
        slots=(slot,) if slot in names else (),
        content=content,
        lineage=LineageFact(lineage, how),
        collisions=collisions,
    )


def patch(id_: str = "P1", *carries: Ref, **more) -> PatchFact:
    """An active patch."""
    return PatchFact(**({"id": id_, "implemented": True, "active": True, "upstream": carries} | more))


def collision(id_: str = "P1", **more) -> Collision:
    """An anchor that is gone after."""
    facts = {
        "patch": id_,
        "edit": "e1",
        "path": "vllm/a.py",
        "before": 1,
        "after": 0,
        "place": Place.INSIDE,
        "breaks": True,
    }
    return Collision(**(facts | more))


def anchor(id_: str = "P1", pin_: str = CURRENT, *, lands: bool = True, **more) -> AnchorFact:
    """How a patch stands on a pin."""
    verdict = "applied" if lands else "anchor_missing"
    return AnchorFact(**({"patch": id_, "pin": pin_, "verdict": verdict, "lands": lands} | more))


def watch_row(action: Action = Action.WATCH, **more) -> WatchRow:
    """A row of ``watch``."""
    return WatchRow(
        **(
            {"index": 0, "line": 2, "upstream": REF, "status": State.OPEN, "action": action, "since": date(2026, 7, 5)}
            | more
        )
    )


def sweep_row(trigger: Trigger = Trigger.REVIEW, **more) -> SweepRow:
    """A row of ``sweep``."""
    return SweepRow(**({"index": 0, "line": 40, "upstream": REF, "trigger": trigger} | more))


def row(purpose: Action | Trigger):
    """A row for ``purpose``."""
    return watch_row(purpose) if isinstance(purpose, Action) else sweep_row(purpose)


def case(row_, known_: Known | None = None, *pins: PinFacts, patches: tuple[PatchFact, ...] = (), **more) -> Case:
    """A row and its facts; patches are the row's and make up the register."""
    register = more.pop("register", {one.id: one for one in patches})
    facts = {"row": row_, "known": known_ or known(), "pins": pins, "patches": patches, "register": register}
    return Case(**(facts | {"now": NOW, "max_age": MAX_AGE} | more))


SITUATIONS = {
    Situation.UNTOLD: (known(None), ()),
    Situation.ISSUE_OPEN: (known(State.OPEN, is_issue=True), ()),
    Situation.ISSUE_CLOSED: (known(State.CLOSED, is_issue=True), ()),
    Situation.OPEN: (known(State.OPEN), (pin(ABSENT),)),
    Situation.CLOSED: (known(State.CLOSED), (pin(ABSENT),)),
    Situation.LANDED: (known(State.CLOSED), (pin(PRESENT),)),
    Situation.MERGED: (known(), (pin(ABSENT), pin(ABSENT, "candidate"))),
    Situation.UNCLEAR: (known(), (pin(CHANGED), pin(UNKNOWN, "candidate"))),
    Situation.AHEAD: (known(), (pin(ABSENT), pin(PRESENT, "candidate"))),
    Situation.IN_CURRENT: (known(), (pin(PRESENT), pin(PRESENT, "candidate"))),
    Situation.LOST: (known(), (pin(ABSENT, lineage=Lineage.ANCESTOR),)),
}
"""Facts that put a row into each situation."""


def subjected(row_, subject: Subject):
    """``row_`` and the patches that stand to it as ``subject`` says; None where such a row cannot be."""
    if subject is Subject.PLANNED:
        return (
            (replace(row_, planned="P1 (some work)", planned_ids=("P1",)), ()) if isinstance(row_, SweepRow) else None
        )
    patches = {
        Subject.CARRIER: (patch("P1", REF),),
        Subject.BOUND: (patch("P1"),),
        Subject.UNBUILT: (patch("P1", implemented=False, active=False),),
        Subject.ENDED: (patch("P1", REF, active=False, retired=True),),
        Subject.NOBODY: (),
    }[subject]
    return replace(row_, patches=tuple(one.id for one in patches)), patches


def by_hand(row_: SweepRow) -> SweepRow:
    """The row, noticed by people alone."""
    return replace(row_, detection=Detection.MANUAL)
