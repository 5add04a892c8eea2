"""What can never come any more, and what another one has decided: one case each, and one near to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.clusters import Cluster, Race
from genesisd.watch.decisions import Urgency
from genesisd.watch.model import State
from genesisd.watch.rows import Action
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CURRENT,
    OTHER,
    PRESENT,
    REF,
    RIVAL,
    case,
    known,
    pin,
    sweep_row,
    watch_row,
)
from tests.unit.watch.decided import ANCHORED, OURS, RETIRING, K, kinds, only


@pytest.mark.parametrize("row", [RETIRING, sweep_row(), ANCHORED, watch_row(Action.PORT), watch_row(Action.AB_TEST)])
def test_what_was_closed_never_fires(row):
    """Closed without a merge: what waits for the merge waits for ever."""
    assert kinds(case(row, known(State.CLOSED), pin(ABSENT), patches=(OURS,))) == [K.TRIGGER_DEAD]


def test_an_issue_is_never_merged():
    """Open or not, a row that waits for its merge is told so."""
    assert (
        "an issue is never merged"
        in only(case(RETIRING, known(State.OPEN, is_issue=True), patches=(OURS,)), K.TRIGGER_DEAD).reason
    )


def test_what_landed_by_another_hand_does_fire():
    """Near miss: closed, and yet a pin has the content; or open; or the row waits for nothing."""
    assert kinds(case(RETIRING, known(State.CLOSED), pin(PRESENT), patches=(OURS,))) == [K.RETIRE_CANDIDATE]
    assert kinds(case(RETIRING, known(State.OPEN), pin(ABSENT), patches=(OURS,))) == [K.NOTE]
    assert kinds(case(watch_row(Action.WATCH), known(State.CLOSED), pin(ABSENT))) == [K.NOTE]


def test_an_open_one_that_landed_says_so():
    """Its content is there before its merge."""
    made = only(case(RETIRING, known(State.OPEN), pin(PRESENT), patches=(OURS,)), K.RETIRE_CANDIDATE)
    assert f"vllm#1001 is open, and yet {CURRENT} (current) has its content" in made.reason


# cluster-decided

CLUSTER = Cluster("P1", (REF, RIVAL))


def test_the_winner_decides_for_the_others():
    """A rival is in a pin: this one is judged again, and that says that its own trigger is dead."""
    race = Race(CLUSTER, RIVAL, (CANDIDATE,))
    made = only(case(RETIRING, known(State.CLOSED), pin(ABSENT), patches=(OURS,), races=(race,)), K.CLUSTER_DECIDED)
    assert made.key == "cluster-decided|P1|vllm#1003|vllm#1001"
    assert (made.patches, made.pins, made.urgency) == (("P1",), (CANDIDATE,), Urgency.LATER)


def test_undecided_and_winning_races_decide_nothing():
    """Near miss: nobody is in a pin; this one is; both are; the patch ended."""
    facts = {"patches": (OURS,)}
    open_race = Race(CLUSTER, running=(REF, RIVAL))
    made = triage(case(RETIRING, known(State.OPEN), pin(ABSENT), races=(open_race,), **facts))
    assert [one.kind for one in made] == [K.NOTE]
    assert "still in the race for P1: vllm#1003" in made[0].evidence
    won = Race(CLUSTER, REF, (CURRENT,))
    assert kinds(case(RETIRING, known(), pin(PRESENT), races=(won,), **facts)) == [K.RETIRE_CANDIDATE]
    both = Race(CLUSTER, RIVAL, (CURRENT,))
    assert kinds(case(RETIRING, known(), pin(PRESENT), races=(both,), **facts)) == [K.RETIRE_CANDIDATE]
    ended = (replace(OURS, active=False, retired=True),)
    assert kinds(case(RETIRING, known(State.CLOSED), pin(ABSENT), races=(both,), patches=ended)) == [K.NOTE]


def test_rivals_in_prose_are_proposed():
    """They are told beside the row's own answer; without any there is nothing to tell."""
    made = triage(case(RETIRING, known(State.CLOSED), pin(ABSENT), patches=(OURS,), proposed=(OTHER,)))
    assert [one.kind for one in made] == [K.TRIGGER_DEAD, K.REVIEW]
    assert "vllm#1004" in made[1].reason
    assert (made[1].severity, made[1].urgency) == ("P3", Urgency.LATER)
