"""Triage of a whole list: every row is spoken of, and what several rows ask for is decided once."""

from __future__ import annotations

from dataclasses import replace

from genesisd.watch.decisions import Decision, DecisionKind
from genesisd.watch.model import Known, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.rows import Action, Severity, Trigger, Watchlist, row_id
from genesisd.watch.triage import Grounds, cases_of, triage_all
from tests.unit.watch.cases import (
    ABSENT,
    FIX,
    MAX_AGE,
    NOW,
    OTHER,
    PRESENT,
    REF,
    RIVAL,
    anchor,
    known,
    patch,
    pin,
    sweep_row,
    watch_row,
)

K = DecisionKind
P1 = patch("P1", REF, required=True)
WATCH = watch_row(Action.RETIRE, patches=("p1",))
SWEEP = sweep_row(Trigger.RETIRE, patches=("P1",))
GATE = Decision(kind=K.PAIR_GATE, row="", ref=OTHER, reason="blocks", key="gate:x")


def listed(*rows) -> Watchlist:
    """A watchlist of ``rows``."""
    watch = tuple(replace(row, index=n, line=2 + n) for n, row in enumerate(rows) if row_id(row).startswith("watch"))
    sweep = tuple(replace(row, index=n, line=90 + n) for n, row in enumerate(rows) if row_id(row).startswith("sweep"))
    return Watchlist(file="w.yaml", digest="", watch=watch, sweep=sweep)


def grounds(*patches, **more) -> Grounds:
    """What is known, with ids found in any case of letters."""
    names = {one.id.casefold(): one.id for one in patches}
    facts = {
        "patches": {one.id: one for one in patches},
        "find": lambda name: names.get(name.casefold()),
        "now": NOW,
        "max_age": MAX_AGE,
    }
    return Grounds(**(facts | more))


def told(made) -> list[tuple[str, str]]:
    return [(one.row, one.kind) for one in made]


def test_what_two_rows_ask_for_is_decided_once():
    """The watch row decides, and its twin has a note that says where, with the evidence."""
    made = triage_all(listed(WATCH, SWEEP), grounds(P1, known={REF: known()}, pins={REF: (pin(PRESENT),)}))
    assert told(made) == [("watch:vllm#1001", K.RETIRE_CANDIDATE), ("sweep:vllm#1001", K.NOTE)]
    assert made[1].reason == "vllm#1001: decided with watch:vllm#1001 (retire-candidate)"
    assert made[1].evidence == made[0].evidence
    assert made[1].key == "note|sweep:vllm#1001"


def test_an_anchor_that_two_rows_guard_is_decided_once():
    """The same patch on the same pin, whatever pull request the row watches."""
    rows = watch_row(Action.DRIFT_CHECK, patches=("P1",)), watch_row(Action.DRIFT_CHECK, patches=("P1",), upstream=FIX)
    facts = {"known": {REF: known(), FIX: known(ref=FIX)}, "pins": {REF: (pin(ABSENT),), FIX: (pin(ABSENT),)}}
    made = triage_all(listed(*rows), grounds(P1, anchors=(anchor(lands=False),), **facts))
    assert told(made) == [("watch:vllm#1001", K.REANCHOR), ("watch:vllm#1002", K.NOTE)]


def test_every_row_is_spoken_of_though_nothing_is_known():
    """Without any facts each row is unknown; gates come after the rows."""
    rows = WATCH, watch_row(upstream=FIX), sweep_row(upstream=RIVAL), sweep_row(upstream=OTHER, watch_only=True)
    made = triage_all(listed(*rows), grounds(gates=(GATE, GATE)))
    assert told(made) == [
        ("watch:vllm#1001", K.STALE),
        ("watch:vllm#1002", K.STALE),
        ("sweep:vllm#1003", K.STALE),
        ("sweep:vllm#1004", K.STALE),
        ("", K.PAIR_GATE),
        ("", K.PAIR_GATE),
    ]
    assert all(one.evidence for one in made if one.row)


def test_some_rows_are_decided_with_the_whole_list_in_mind():
    """An hourly sweep looks at one row, and its rival of another row has won all the same."""
    rival = sweep_row(Trigger.RETIRE, patches=("P1",), upstream=RIVAL)
    watchlist = listed(SWEEP, rival)
    facts = grounds(P1, known={REF: known(State.OPEN), RIVAL: known(ref=RIVAL)}, pins={RIVAL: (pin(PRESENT),)})
    made = triage_all(watchlist, facts, watchlist.sweep[:1])
    assert told(made) == [("sweep:vllm#1001", K.CLUSTER_DECIDED)]
    assert told(triage_all(watchlist, facts)) == [
        ("sweep:vllm#1001", K.CLUSTER_DECIDED),
        ("sweep:vllm#1003", K.RETIRE_CANDIDATE),
    ]
    assert triage_all(watchlist, facts, ()) == ()


def test_a_case_has_what_the_row_names():
    """Ids by their proper spelling and once, the fix with its pins, the rest of the register, and ids nobody knows."""
    row = watch_row(Action.RETIRE, patches=("p1", "P1", "X9"), fix_upstream=FIX)
    other = patch("P2")
    facts = grounds(P1, other, known={FIX: known(ref=FIX)}, pins={FIX: (pin(PRESENT),)}, anchors=(anchor(),))
    (case,) = cases_of(listed(row), facts)
    assert case.patches == (P1,)
    assert case.strangers == ("X9",)
    assert case.register == {"P1": P1, "P2": other}
    assert (case.known, case.pins) == (Known(REF), ())
    assert (case.fix, case.fix_pins) == (known(ref=FIX), (pin(PRESENT),))
    assert (case.anchors, case.now, case.max_age) == ((anchor(),), NOW, MAX_AGE)
    (bare,) = cases_of(listed(row), grounds())
    assert (bare.fix, bare.fix_pins, bare.strangers) == (Known(FIX), (), ("p1", "P1", "X9"))
    (planned,) = cases_of(listed(sweep_row(planned="P1", planned_ids=("P1",))), facts)
    assert (planned.patches, planned.fix) == ((P1,), None)


def test_a_severity_counts_for_the_pull_request():
    """The sweep row of a pull request takes what its watch row says; others do not."""
    grave = watch_row(severity="P1-crash", status=State.OPEN)
    rows = grave, sweep_row(), sweep_row(upstream=OTHER)
    found = cases_of(listed(*rows), grounds())
    assert [case.severity for case in found] == [Severity.P1, Severity.P1, None]


def test_rivals_in_prose_are_proposed_once():
    """Less what the patch itself carries, what upstream calls an issue, and what a row binds already."""
    note = "racing cluster (vllm#1003 / #1004 / #1005 / #1006); whichever merges first decides"
    rows = replace(SWEEP, note=note), sweep_row(Trigger.RETIRE, patches=("P1",), upstream=RIVAL, note=note)
    issue, carried = Ref(UPSTREAM, 1005), Ref(UPSTREAM, 1006)
    facts = grounds(replace(P1, upstream=(REF, carried)), known={issue: known(State.OPEN, ref=issue, is_issue=True)})
    found = cases_of(listed(*rows), facts)
    assert [case.proposed for case in found] == [(OTHER,), ()]
    made = triage_all(listed(*rows), facts)
    assert ("sweep:vllm#1001", K.REVIEW) in told(made)


def test_the_same_facts_give_the_same_decisions():
    """Ages and orders of sets play no part: a second sweep finds nothing new."""
    watchlist = listed(WATCH, SWEEP, watch_row(Action.COOKBOOK, upstream=FIX, notes="docs/a.md"))
    facts = grounds(P1, known={REF: known(), FIX: known(State.OPEN, ref=FIX)}, pins={REF: (pin(PRESENT),)})
    later = replace(facts, now=NOW + 3600)
    assert triage_all(watchlist, facts) == triage_all(watchlist, later)
