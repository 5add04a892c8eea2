"""Which dossiers are made first, and when a sweep has made enough of them."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Standing, Urgency
from genesisd.watch.dossier_turns import BUDGET, in_turn, left_over, may_begin
from genesisd.watch.refs import Ref

ONE, TWO = Ref("vllm-project/vllm", 1), Ref("vllm-project/vllm", 2)


def asks(ref, *patches, pins=("now",), urgency=Urgency.SOON, standing=Standing.OPEN, kind="retire-candidate"):
    made = Decision(
        kind=DecisionKind(kind), row="r", ref=ref, patches=patches, pins=pins, urgency=urgency, reason="it is in"
    )
    return KeptDecision(id=1, decision=made, opened=0.0, seen=0.0, standing=standing)


def test_each_patch_and_pin_of_open_retire_candidates_is_asked_for_once():
    """Not of what was answered, and of no other kind."""
    kept = (
        asks(ONE, "P1", pins=("now", "next")),
        asks(ONE, "P1"),
        asks(TWO, "P2", standing=Standing.DECLINED),
        asks(TWO, "P3", kind="review"),
    )
    assert in_turn(kept, (), {}) == (("P1", ONE, "now"), ("P1", ONE, "next"))


def test_what_is_made_is_not_asked_for():
    """A dossier that holds lies there."""
    assert in_turn((asks(ONE, "P1", "P2"),), {("P1", ONE, "now")}, {}) == (("P2", ONE, "now"),)


def test_what_serves_comes_first_and_what_came_to_nothing_last():
    """However urgent: else one that fails each night would keep the others from their turn for good."""
    kept = (asks(ONE, "P1", urgency=Urgency.LATER), asks(ONE, "P2"), asks(TWO, "P3", urgency=Urgency.NOW))
    first, second, third = ("P3", TWO, "now"), ("P2", ONE, "now"), ("P1", ONE, "now")
    assert in_turn(kept, (), {}) == (first, second, third)
    assert in_turn(kept, (), {first: 1}) == (second, third, first)
    assert in_turn(kept, (), {first: 2, second: 1, third: 2}) == (second, first, third)


@pytest.mark.parametrize(("spent", "begins"), [(0.0, True), (BUDGET - 0.1, True), (BUDGET, False)])
def test_none_is_begun_when_the_time_is_spent(spent, begins):
    """The first one always is."""
    assert may_begin(spent) is begins


def test_what_is_left_is_named_with_how_to_have_it_sooner():
    """The first ones; dozens would fill the report."""
    wishes = [(f"P{n}", ONE, "now") for n in range(1, 8)]
    assert left_over(wishes[:1]) == (
        "1 dossier is left for the next sweeps, after 15 min with others: P1 against vllm#1 on now "
        "(genesisctl watch diff PR makes one at once)"
    )
    told = left_over(wishes)
    assert told.startswith("7 dossiers are left for the next sweeps, after 15 min with others: P1 against")
    assert "P5 against vllm#1 on now and 2 more (" in told
    assert "P6" not in told
