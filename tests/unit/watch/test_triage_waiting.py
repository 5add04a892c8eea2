"""Trials, pages, notes, and what is not known: one case each, and one near to it."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import Urgency
from genesisd.watch.model import Known, State, Unanswered, WhyUnknown
from genesisd.watch.rows import Action
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CURRENT,
    DAY,
    FIX,
    MAX_AGE,
    NOW,
    OTHER,
    PRESENT,
    REF,
    case,
    known,
    patch,
    pin,
    pull,
    watch_row,
)
from tests.unit.watch.decided import BREAKER, OURS, RETIRING, K, kinds, only


def test_a_trial_is_opened_once_a_pin_may_have_it():
    """To compare, or to verify what would have been ported."""
    compare = only(case(watch_row(Action.AB_TEST, patches=("P1",)), known(), pin(PRESENT), patches=(patch(),)), K.TRIAL)
    assert "with and without" in compare.reason
    assert (compare.patches, compare.pins) == (("P1",), (CURRENT,))
    assert "nothing is left to port" in only(case(watch_row(Action.PORT), known(), pin(PRESENT)), K.TRIAL).reason


@pytest.mark.parametrize("facts", [(known(State.OPEN), pin(ABSENT)), (known(), pin(ABSENT))])
def test_there_is_no_trial_of_what_no_pin_has(facts):
    """Near miss: not merged, or merged and absent."""
    assert kinds(case(watch_row(Action.AB_TEST), *facts)) == [K.NOTE]


@pytest.mark.parametrize(
    ("text", "pages"),
    [
        ("OOM. See docs/COOKBOOK.md §1. More.", ("docs/COOKBOOK.md §1",)),
        ("see https://docs.example.org/a.html, and docs/x.md", ("https://docs.example.org/a.html", "docs/x.md")),
        ("no page, v0.24.0", ()),
    ],
)
def test_a_cookbook_row_links_its_page(text, pages):
    """The pages that the row's prose names are its evidence; one without a page says so."""
    made = only(case(watch_row(Action.COOKBOOK, notes=text), known(State.OPEN)), K.COOKBOOK)
    assert tuple(line.removeprefix("page: ") for line in made.evidence if line.startswith("page: ")) == pages
    assert (pages[0] if pages else "names no page") in made.reason
    assert made.urgency is Urgency.NONE


def test_a_note_tells_what_is_known():
    """State with its day, pins that nobody could look at, ids that the register lacks."""
    row = watch_row(Action.WATCH, patches=("P1", "X9"))
    unbuilt = patch("P1", implemented=False, active=False)
    made = only(case(row, known(State.OPEN), pin(), patches=(unbuilt,), strangers=("X9",)), K.NOTE)
    assert made.evidence == (
        f"vllm#1001 in {CURRENT} (current): neither files nor history could be looked at",
        "vllm#1001: open, told on 2026-09-21",
        "P1 is not implemented here",
        "not in the register: X9",
    )
    assert (made.urgency, made.severity, made.derived) == (Urgency.NONE, "P3", True)


def test_a_move_is_told():
    """A repository that was renamed is to be written so."""
    made = only(case(watch_row(), known(State.OPEN, now_at=OTHER)), K.NOTE)
    assert "vllm#1001 moved to vllm#1004: write that in the row" in made.evidence


# unknown


def test_an_answer_that_is_too_old_is_unknown():
    """And what it asked for stands: an outage closes nothing."""
    old = Known(REF, pull(checked_at=NOW - MAX_AGE - 1), Unanswered(REF, WhyUnknown.OUTAGE, NOW - 60, "no route"))
    made = triage(case(RETIRING, old, pin(PRESENT), patches=(OURS,)))
    assert [one.kind for one in made] == [K.RETIRE_CANDIDATE, K.STALE]
    assert made[1].reason == "vllm#1001: upstream answered last on 2026-09-19, too long ago to rely on (outage)"
    assert any("could not be asked on 2026-09-21 (outage): no route" in line for line in made[1].evidence)
    assert made[1].key == "unknown|vllm#1001"


def test_a_day_of_outage_is_not_yet_unknown():
    """Near miss: the newest question failed, and an answer of the day before still counts, to the second."""
    for age in (DAY, MAX_AGE):
        fresh = Known(REF, pull(checked_at=NOW - age), Unanswered(REF, WhyUnknown.OUTAGE, NOW - 60))
        assert kinds(case(RETIRING, fresh, pin(PRESENT), patches=(OURS,))) == [K.RETIRE_CANDIDATE]


def test_what_was_never_answered_is_unknown():
    """Whatever the files hold: without a state nothing is retired and nothing taken over."""
    made = triage(case(RETIRING, known(None), pin(PRESENT), patches=(OURS,)))
    assert [one.kind for one in made] == [K.STALE]
    assert made[0].reason == "vllm#1001: upstream never answered (outage)"


def test_an_old_answer_about_the_fix_is_unknown_too():
    """The row rests on both."""
    old = Known(FIX, pull(ref=FIX, checked_at=NOW - MAX_AGE - 1))
    made = only(case(BREAKER, known(), pin(PRESENT), fix=old, fix_pins=(pin(PRESENT),)), K.STALE)
    assert (made.ref, made.key) == (FIX, "unknown|vllm#1002")


@pytest.mark.parametrize(
    ("severity", "urgency"),
    [("P0-x", Urgency.SOON), ("P1-x", Urgency.SOON), ("P2-x", Urgency.LATER), (None, Urgency.LATER)],
)
def test_unknown_is_soon_for_what_is_grave(severity, urgency):
    """Never at once: nobody can do more than see why upstream is out of reach."""
    assert only(case(watch_row(severity=severity), known(None)), K.STALE).urgency is urgency
