"""Anchors that do not hold, or will not: one case that asks to mend them, and one near to it that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.answers import hold
from genesisd.watch.decisions import Urgency
from genesisd.watch.model import State
from genesisd.watch.rows import Action, Trigger
from genesisd.watch.table import Hold
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CURRENT,
    PRESENT,
    anchor,
    by_hand,
    case,
    collision,
    known,
    patch,
    pin,
    sweep_row,
    watch_row,
)
from tests.unit.watch.decided import ANCHORED, K, kinds, only

DRIFT = watch_row(Action.DRIFT_CHECK, patches=("P1", "P2"))


def test_anchors_that_do_not_hold_are_told_pin_by_pin():
    """An active patch that does not land on a pin is to be re-anchored; now, where that pin serves and it is required."""
    anchors = (anchor("P1", lands=False, text="e1: not found"), anchor("P1", CANDIDATE, lands=False), anchor("P2"))
    pins = (pin(ABSENT), pin(ABSENT, "candidate"))
    made = triage(
        case(DRIFT, known(State.OPEN), *pins, patches=(patch("P1", required=True), patch("P2")), anchors=anchors)
    )
    assert [(one.kind, one.patches, one.pins, one.urgency, one.severity) for one in made] == [
        (K.REANCHOR, ("P1",), (CURRENT,), Urgency.NOW, "P1"),
        (K.REANCHOR, ("P1",), (CANDIDATE,), Urgency.SOON, "P1"),
    ]
    assert made[0].evidence[0] == f"P1 on {CURRENT}: e1: not found"
    assert made[1].evidence[0] == f"P1 on {CANDIDATE}: anchor_missing"
    assert made[0].key == f"re-anchor-needed|P1|{CURRENT}"


def test_an_optional_patch_is_less_pressing():
    """What can do without its anchors is graver than nothing, and milder than what cannot."""
    made = only(
        case(DRIFT, known(State.OPEN), pin(ABSENT), patches=(patch(),), anchors=(anchor(lands=False),)), K.REANCHOR
    )
    assert (made.severity, made.urgency, made.derived) == ("P2", Urgency.SOON, True)


def test_anchors_that_hold_are_a_note():
    """Near miss: the note shows on which pin they were seen, and which were not looked at."""
    anchors = (anchor("P1"), anchor("P1", CANDIDATE), anchor("P3", lands=False))
    made = triage(case(DRIFT, known(State.OPEN), pin(ABSENT), patches=(patch("P1"), patch("P2")), anchors=anchors))
    assert [one.kind for one in made] == [K.NOTE]
    assert {
        f"anchors on {CURRENT}: applied (P1)",
        f"anchors on {CANDIDATE}: applied (P1)",
        "anchors not looked at: P2",
    } <= set(made[0].evidence)


@pytest.mark.parametrize(
    ("row", "patches"),
    [
        (watch_row(Action.WATCH, patches=("P1",)), (patch(),)),
        (DRIFT, (patch(active=False, implemented=False),)),
        (DRIFT, (patch(active=False, retired=True),)),
    ],
)
def test_only_who_asks_is_told_of_anchors(row, patches):
    """Near miss: a row that only watches, a patch that is not here, and one that ended."""
    facts = {"patches": patches, "anchors": (anchor(lands=False),)}
    assert kinds(case(row, known(State.OPEN), pin(ABSENT), **facts)) == [K.NOTE]


def test_anchors_of_pins_that_play_no_part_do_not_count():
    """Near miss: a pin that nobody runs may lose what it likes."""
    pins = (pin(ABSENT), pin(ABSENT, "0.9.0"))
    facts = {"patches": (patch(),), "anchors": (anchor(pin_="0.9.0", lands=False),)}
    assert kinds(case(DRIFT, known(State.OPEN), *pins, **facts)) == [K.NOTE]


@pytest.mark.parametrize("state", [State.OPEN, State.MERGED])
def test_a_collision_is_told_before_the_merge(state):
    """Any row's pull request that would break an active patch is told, with the counts, and raises the severity."""
    hit = collision(text="5 lines between two of its own")
    row = sweep_row(Trigger.REVIEW, watch_only=True)
    register = {"P1": patch("P1", required=True)}
    made = only(case(row, known(state), pin(ABSENT, collisions=(hit,)), register=register), K.REANCHOR)
    assert made.patches == ("P1",)
    assert made.pins == (CURRENT,)
    assert (made.severity, made.urgency) == ("P1", Urgency.SOON)
    assert made.evidence[0] == (
        f"P1 e1 in vllm/a.py of {CURRENT}: inside the anchor, found 1 times before and 0 after (5 lines between two of its own)"
    )
    assert ("its merge" if state is State.OPEN else "the next pin that has it") in made.reason
    assert made.key == "re-anchor-needed|vllm#1001|P1"


def test_one_decision_for_all_edits_and_pins():
    """Two edits on two pins are one decision; one required edit makes it required."""
    hits = (collision(required=False), collision(edit="e2"))
    pins = (pin(ABSENT, collisions=hits), pin(ABSENT, "candidate", collisions=hits))
    made = only(case(sweep_row(), known(State.OPEN), *pins, register={"P1": patch()}), K.REANCHOR)
    assert made.pins == (CURRENT, CANDIDATE)
    assert len([line for line in made.evidence if line.startswith("P1 ")]) == 4
    assert "a required anchor" in made.reason


def test_an_optional_edit_is_less_pressing():
    """The patch stands without it."""
    hits = (collision(required=False),)
    made = only(
        case(sweep_row(), known(State.OPEN), pin(ABSENT, collisions=hits), register={"P1": patch()}), K.REANCHOR
    )
    assert (made.severity, made.urgency) == ("P2", Urgency.LATER)
    assert "an optional anchor" in made.reason


@pytest.mark.parametrize(
    ("state", "content", "hit", "register"),
    [
        (State.CLOSED, ABSENT, collision(), {"P1": patch()}),
        (State.MERGED, PRESENT, collision(), {"P1": patch()}),
        (State.OPEN, ABSENT, collision(breaks=False), {"P1": patch()}),
        (State.OPEN, ABSENT, collision(), {"P1": patch(active=False, retired=True)}),
        (State.OPEN, ABSENT, collision(), {}),
    ],
    ids=["closed", "in the pin", "does not break", "ended patch", "unknown patch"],
)
def test_collisions_that_do_not_matter(state, content, hit, register):
    """Near miss: it will not come, is there already, breaks nothing, or breaks what is in no build."""
    facts = case(watch_row(), known(state), pin(content, collisions=(hit,)), register=register)
    assert kinds(facts) == [K.NOTE]


def test_a_wanted_reanchoring_is_looked_into():
    """Anchors that were seen to hold leave a review; those that nobody saw are to be re-anchored, as the row says."""
    there = known(), pin(PRESENT)
    assert kinds(case(ANCHORED, *there, patches=(patch(),), anchors=(anchor(),))) == [K.REVIEW]
    assert kinds(case(ANCHORED, *there, patches=(patch(),))) == [K.REANCHOR]
    assert kinds(case(by_hand(ANCHORED), *there, patches=(patch(),), anchors=(anchor(),))) == [K.REANCHOR]


def test_a_seen_break_is_said_once():
    """The alarm names the pin; the row's own answer would say the same again."""
    made = triage(case(ANCHORED, known(), pin(PRESENT), patches=(patch(),), anchors=(anchor(lands=False),)))
    assert [(one.kind, one.key) for one in made] == [(K.REANCHOR, f"re-anchor-needed|P1|{CURRENT}")]


def test_each_patch_holds_or_breaks_by_itself():
    """That the one breaks says nothing of the other."""
    row = replace(ANCHORED, patches=("P1", "P2"))
    anchors = (anchor("P1", lands=False), anchor("P2"))
    made = triage(case(row, known(), pin(PRESENT), patches=(patch("P1"), patch("P2")), anchors=anchors))
    assert [(one.kind, one.patches) for one in made] == [(K.REANCHOR, ("P1",)), (K.REVIEW, ("P2",))]


@pytest.mark.parametrize(
    ("pins", "anchors", "expected"),
    [
        ((pin(ABSENT, collisions=()),), (), Hold.HOLDS),
        ((pin(ABSENT, collisions=(collision("P2"),)),), (), Hold.HOLDS),
        ((pin(ABSENT, collisions=(collision(breaks=False),)),), (), Hold.HOLDS),
        ((pin(ABSENT, collisions=(collision(),)),), (), Hold.BREAKS),
        ((pin(ABSENT),), (), Hold.UNSEEN),
        ((pin(ABSENT), pin(ABSENT, "candidate", collisions=())), (), Hold.UNSEEN),
        ((), (), Hold.UNSEEN),
        ((pin(PRESENT),), (anchor(),), Hold.HOLDS),
        ((pin(PRESENT),), (anchor("P2"),), Hold.UNSEEN),
        ((pin(PRESENT),), (anchor(pin_=CANDIDATE),), Hold.UNSEEN),
        ((pin(PRESENT), pin(PRESENT, "candidate")), (anchor(),), Hold.UNSEEN),
        ((pin(PRESENT), pin(PRESENT, "candidate")), (anchor(), anchor(pin_=CANDIDATE, lands=False)), Hold.BREAKS),
        ((pin(PRESENT, collisions=(collision(),)),), (anchor(),), Hold.HOLDS),
    ],
)
def test_what_is_known_to_hold(pins, anchors, expected):
    """Where a pin has the change its anchors tell, before that the diff; what was not looked at is unseen."""
    assert hold(case(ANCHORED, known(), *pins, patches=(patch(),), anchors=anchors), "P1") is expected


def test_a_required_anchor_is_graver_than_the_row():
    """The row is written as P3; a required patch that does not land is P1, derived."""
    row = watch_row(Action.DRIFT_CHECK, patches=("P1",), severity="P3-perf")
    facts = {"patches": (patch("P1", required=True),), "anchors": (anchor(lands=False),)}
    made = only(case(row, known(State.OPEN), pin(ABSENT), **facts), K.REANCHOR)
    assert (made.severity, made.derived) == ("P1", True)
    mild = {"patches": (patch("P1"),), "anchors": (anchor(lands=False),)}
    made = only(case(row, known(State.OPEN), pin(ABSENT), **mild), K.REANCHOR)
    assert (made.severity, made.derived) == ("P2", True)
