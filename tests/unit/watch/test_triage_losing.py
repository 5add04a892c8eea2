"""What a pin has lost, or breaks by: one case that is told, and one near to it that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.patches.resolve import Gate
from genesisd.watch.decisions import Urgency
from genesisd.watch.model import Lineage, State
from genesisd.watch.rows import Action
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CHANGED,
    CURRENT,
    FIX,
    OTHER,
    PRESENT,
    UNKNOWN,
    anchor,
    case,
    known,
    patch,
    pin,
    sweep_row,
    watch_row,
)
from tests.unit.watch.decided import BREAKER, OURS, PLANNED, RETIRING, K, kinds, only


@pytest.mark.parametrize("lineage", [Lineage.ANCESTOR, Lineage.CHERRY_PICKED])
def test_a_silent_loss_is_the_gravest(lineage):
    """The history has the merge and the files have not the content: P0, now, and nothing is retired."""
    made = triage(case(RETIRING, known(), pin(ABSENT, lineage=lineage), patches=(OURS,)))
    assert [(one.kind, one.severity, one.urgency, one.derived) for one in made] == [
        (K.REGRESSION, "P0", Urgency.NOW, True)
    ]
    assert "silently" in made[0].reason
    assert made[0].key == f"regression-in-pin|vllm#1001|lost|{CURRENT}"


def test_a_loss_that_the_history_tells_is_milder():
    """A revert was meant."""
    made = only(case(RETIRING, known(), pin(ABSENT, lineage=Lineage.REVERTED), patches=(OURS,)), K.REGRESSION)
    assert (made.severity, made.urgency) == ("P1", Urgency.NOW)
    assert "undone" in made.reason
    assert "silently" not in made.reason


def test_one_pin_that_lost_it_keeps_ours_for_all():
    """Another pin has the content all the same, and still nothing is offered for retirement."""
    release = pin(ABSENT, lineage=Lineage.ANCESTOR)
    main = pin(PRESENT, "candidate", lineage=Lineage.ANCESTOR)
    made = triage(case(RETIRING, known(), release, main, patches=(OURS,)))
    assert [(one.kind, one.pins) for one in made] == [(K.REGRESSION, (CURRENT,))]


@pytest.mark.parametrize(
    ("before", "after"), [("current", "candidate"), ("rollback", "current")], ids=["candidate", "current"]
)
def test_what_the_pin_before_has_is_lost(before, after):
    """Without any lineage: a later pin lacks what the one before it has."""
    made = only(case(RETIRING, known(), pin(PRESENT, before), pin(ABSENT, after), patches=(OURS,)), K.REGRESSION)
    assert made.pins == (pin(slot=after).pin,)
    assert made.severity == "P1"
    assert "the pin before it has it" in made.reason


@pytest.mark.parametrize(
    "pins",
    [
        (pin(CHANGED, lineage=Lineage.ANCESTOR),),
        (pin(UNKNOWN, lineage=Lineage.REVERTED),),
        (pin(ABSENT, lineage=Lineage.ABSENT),),
        (pin(PRESENT), pin(ABSENT, "rollback")),
        (pin(PRESENT, "candidate"), pin(ABSENT)),
        (pin(PRESENT, lineage=Lineage.REVERTED),),
        (pin(PRESENT), pin(ABSENT, "0.9.0", lineage=Lineage.ANCESTOR)),
    ],
)
def test_what_is_no_loss(pins):
    """Near miss: rewritten, not looked at, never in, older pins, merged again, and pins that play no part."""
    assert K.REGRESSION not in kinds(case(RETIRING, known(), *pins, patches=(OURS,)))


def test_a_written_severity_is_raised_and_never_lowered():
    """A silent loss makes P3 to P0, told as derived; a told one leaves P0 as it is written."""
    row = watch_row(Action.RETIRE, patches=("P1",), severity="P3-perf")
    silent = only(case(row, known(), pin(ABSENT, lineage=Lineage.ANCESTOR), patches=(OURS,)), K.REGRESSION)
    assert (silent.severity, silent.derived) == ("P0", True)
    grave = replace(row, severity="P0-correctness")
    told = only(case(grave, known(), pin(ABSENT, lineage=Lineage.REVERTED), patches=(OURS,)), K.REGRESSION)
    assert (told.severity, told.derived) == ("P0", False)


@pytest.mark.parametrize(("lineage", "severity"), [(Lineage.ANCESTOR, "P1"), (Lineage.REVERTED, "P2")])
def test_a_loss_that_nothing_relies_on_is_milder(lineage, severity):
    """A row that names no patch, on purpose."""
    row = sweep_row(watch_only=True)
    assert only(case(row, known(), pin(ABSENT, lineage=lineage)), K.REGRESSION).severity == severity
    assert only(case(PLANNED, known(), pin(ABSENT, lineage=Lineage.ANCESTOR)), K.REGRESSION).severity == "P0"


def test_what_breaks_without_its_fix_is_a_regression():
    """The pin has the one and lacks the other, and the reason says what may be done."""
    facts = case(BREAKER, known(), pin(PRESENT), fix=known(ref=FIX), fix_pins=(pin(ABSENT),))
    made = only(facts, K.REGRESSION)
    assert (made.severity, made.urgency, made.pins) == ("P0", Urgency.NOW, (CURRENT,))
    assert "take it over" in made.reason
    assert made.key == "regression-in-pin|vllm#1001|vllm#1002"
    unmerged = case(BREAKER, known(), pin(PRESENT), fix=known(State.OPEN, ref=FIX), fix_pins=(pin(ABSENT),))
    assert "keep out of its way" in only(unmerged, K.REGRESSION).reason


def test_a_candidate_that_breaks_is_told_before_it_serves():
    """Only the candidate has it: soon, and milder where nothing is written."""
    row = replace(BREAKER, severity=None)
    pins = pin(ABSENT), pin(PRESENT, "candidate")
    fix_pins = (pin(ABSENT), pin(ABSENT, "candidate"))
    made = only(case(row, known(), *pins, fix=known(ref=FIX), fix_pins=fix_pins), K.REGRESSION)
    assert (made.pins, made.severity, made.urgency) == ((CANDIDATE,), "P2", Urgency.LATER)
    written = only(case(BREAKER, known(), *pins, fix=known(ref=FIX), fix_pins=fix_pins), K.REGRESSION)
    assert written.urgency is Urgency.SOON


def test_a_fix_that_was_never_merged_cannot_be_there():
    """Nobody looked into the files, and upstream says that it is not merged."""
    facts = case(BREAKER, known(), pin(PRESENT), fix=known(State.OPEN, ref=FIX))
    assert kinds(facts) == [K.REGRESSION]
    by_history = case(BREAKER, known(), pin(CHANGED, lineage=Lineage.ANCESTOR), fix=known(State.OPEN, ref=FIX))
    assert kinds(by_history) == [K.REGRESSION]


def test_an_open_issue_breaks_the_pins_that_lack_its_fix():
    """An issue has no content; what was seen of its fix counts, on the pins that run or will."""
    issue = known(State.OPEN, is_issue=True)
    fix_pins = (pin(ABSENT), pin(ABSENT, "rollback"))
    assert only(case(BREAKER, issue, fix=known(State.OPEN, ref=FIX), fix_pins=fix_pins), K.REGRESSION).pins == (
        CURRENT,
    )
    pins = (pin(), pin(slot="rollback"))
    assert only(case(BREAKER, issue, *pins, fix=known(ref=FIX), fix_pins=fix_pins), K.REGRESSION).pins == (CURRENT,)


@pytest.mark.parametrize(
    ("told", "pins", "fix", "fix_pins"),
    [
        (known(), (pin(PRESENT),), known(ref=FIX), (pin(PRESENT),)),
        (known(), (pin(ABSENT, lineage=Lineage.ANCESTOR),), known(ref=FIX), (pin(ABSENT),)),
        (known(), (pin(UNKNOWN),), known(ref=FIX), (pin(ABSENT),)),
        (known(), (pin(PRESENT),), known(ref=FIX), (pin(CHANGED),)),
        (known(), (pin(PRESENT),), known(ref=FIX), (pin(UNKNOWN),)),
        (known(State.CLOSED, is_issue=True), (), known(ref=FIX), (pin(ABSENT),)),
        (known(State.OPEN, is_issue=True), (), known(State.OPEN, ref=FIX), (pin(UNKNOWN),)),
        (known(State.OPEN, is_issue=True), (), known(State.OPEN, ref=FIX), (pin(ABSENT, "rollback"),)),
    ],
    ids=["fixed", "breaker lost", "breaker unseen", "fix rewritten", "fix unseen", "closed issue", "claim", "rollback"],
)
def test_what_is_no_regression(told, pins, fix, fix_pins):
    """Near miss: mended, undone, or not seen to break or to lack."""
    assert kinds(case(BREAKER, told, *pins, fix=fix, fix_pins=fix_pins)) == [K.NOTE]


def test_our_own_patch_mends_it():
    """Near miss: a patch of ours carries the fix and lands on that pin; if it does not land, the pin is broken."""
    carrier = patch("P1", FIX)
    facts = {"fix": known(ref=FIX), "fix_pins": (pin(ABSENT),)}
    assert kinds(case(BREAKER, known(), pin(PRESENT), patches=(carrier,), anchors=(anchor(),), **facts)) == [K.NOTE]
    broken = case(BREAKER, known(), pin(PRESENT), patches=(carrier,), anchors=(anchor(lands=False),), **facts)
    assert kinds(broken) == [K.REGRESSION]
    unseen = case(BREAKER, known(), pin(PRESENT), patches=(carrier,), **facts)
    assert kinds(unseen) == [K.REGRESSION]
    elsewhere = replace(anchor(), verdict=str(Gate.VERSION))  # it is for other versions, and in no build of this one
    assert kinds(case(BREAKER, known(), pin(PRESENT), patches=(carrier,), anchors=(elsewhere,), **facts)) == [
        K.REGRESSION
    ]
    ended = case(
        BREAKER, known(), pin(PRESENT), patches=(replace(carrier, active=False),), anchors=(anchor(),), **facts
    )
    assert kinds(ended) == [K.REGRESSION]
    other = case(BREAKER, known(), pin(PRESENT), patches=(patch("P1", OTHER),), anchors=(anchor(),), **facts)
    assert kinds(other) == [K.REGRESSION]


def test_a_loss_names_our_patches():
    """Those that are in builds, since they must stay."""
    ended = patch("P2", active=False, retired=True)
    made = only(case(RETIRING, known(), pin(ABSENT, lineage=Lineage.ANCESTOR), patches=(OURS, ended)), K.REGRESSION)
    assert made.patches == ("P1",)
    assert made.reason == (
        f"vllm#1001 was merged, and {CURRENT} (current) has lost it: it is in the history and not in the files, "
        "so it was undone silently; give nothing of ours up for it"
    )
    assert made.evidence[0] == (
        f"vllm#1001 in {CURRENT} (current): content absent by reverse-apply (vllm/a.py:10 is as before), "
        "lineage ancestor by merge-base"
    )
    assert len([line for line in made.evidence if "content absent" in line]) == 1
