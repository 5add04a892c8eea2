"""What was merged, to be reviewed or carried: one case that asks for it, and one near to it that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.decisions import Urgency
from genesisd.watch.model import State
from genesisd.watch.rows import Action, Trigger
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CHANGED,
    CURRENT,
    OTHER,
    PRESENT,
    REF,
    UNKNOWN,
    by_hand,
    case,
    known,
    patch,
    pin,
    sweep_row,
    watch_row,
)
from tests.unit.watch.decided import OURS, PLANNED, RETIRING, K, kinds, only


def test_a_merge_is_reviewed_and_so_is_the_pin_that_has_it():
    """They are two decisions: the second comes when the first was answered long ago."""
    row = sweep_row(patches=("P1",))
    merged = only(case(row, known(), pin(ABSENT), patches=(patch(),)), K.REVIEW)
    there = only(case(row, known(), pin(ABSENT), pin(PRESENT, "candidate"), patches=(patch(),)), K.REVIEW)
    promoted = only(case(row, known(), pin(PRESENT), patches=(patch(),)), K.REVIEW)
    assert merged.key != there.key == promoted.key
    assert (merged.pins, merged.urgency) == ((CURRENT,), Urgency.LATER)
    assert promoted.urgency is Urgency.SOON


def test_what_is_open_is_not_reviewed():
    """Near miss."""
    assert kinds(case(sweep_row(patches=("P1",)), known(State.OPEN), pin(ABSENT), patches=(patch(),))) == [K.NOTE]


def test_by_hand_means_at_the_merge():
    """Where nobody but a person would notice, a row that waits for a pin is told of the merge already."""
    merged = known(), pin(ABSENT)
    assert kinds(case(by_hand(RETIRING), *merged, patches=(OURS,))) == [K.REVIEW]
    assert kinds(case(RETIRING, *merged, patches=(OURS,))) == [K.NOTE]
    assert kinds(case(by_hand(RETIRING), known(State.OPEN), pin(ABSENT), patches=(OURS,))) == [K.NOTE]


# backport-no-longer-needed, backport-wanted


def test_planned_work_that_a_pin_has_is_not_needed():
    """The work was never done, and need not be."""
    made = only(case(PLANNED, known(), pin(PRESENT)), K.BACKPORT_NOT_NEEDED)
    assert made.urgency is Urgency.LATER
    assert "planned: P9 (a guard)" in made.evidence


def test_planned_work_is_wanted_while_the_pin_lacks_it():
    """Near miss of the one, and case of the other: merged, and absent from the pin that serves."""
    made = only(case(PLANNED, known(), pin(ABSENT)), K.BACKPORT_WANTED)
    assert made.pins == (CURRENT,)


def test_a_name_that_was_given_to_other_work_does_not_count():
    """A planned row is still planned though a patch of that name is active, unless it carries this pull request."""
    other = patch("P9", OTHER)
    assert kinds(case(PLANNED, known(), pin(PRESENT), patches=(other,))) == [K.BACKPORT_NOT_NEEDED]
    assert only(case(PLANNED, known(), pin(PRESENT), patches=(other,)), K.BACKPORT_NOT_NEEDED).patches == ()
    retired = patch("P9", OTHER, active=False, retired=True)
    assert only(case(PLANNED, known(), pin(PRESENT), patches=(retired,)), K.BACKPORT_NOT_NEEDED).patches == ()
    named = patch("P9", implemented=False, active=False)
    assert only(case(PLANNED, known(), pin(PRESENT), patches=(named,)), K.BACKPORT_NOT_NEEDED).patches == ("P9",)
    unbuilt = patch("P9", REF, implemented=False, active=False)
    assert only(case(PLANNED, known(), pin(PRESENT), patches=(unbuilt,)), K.BACKPORT_NOT_NEEDED).patches == ("P9",)
    done = patch("P9", REF)
    assert kinds(case(PLANNED, known(), pin(PRESENT), patches=(done,))) == [K.RETIRE_CANDIDATE]
    over = patch("P9", REF, active=False, retired=True)
    assert kinds(case(PLANNED, known(), pin(PRESENT), patches=(over,))) == [K.NOTE]


def test_a_port_that_is_merged_and_absent_is_wanted():
    """Unless a patch of ours carries it."""
    row = watch_row(Action.PORT, patches=("P1",))
    made = only(case(row, known(), pin(ABSENT), patches=(patch(),)), K.BACKPORT_WANTED)
    assert made.urgency is Urgency.SOON
    carried = triage(case(row, known(), pin(ABSENT), patches=(OURS,)))
    assert [one.kind for one in carried] == [K.NOTE]
    assert carried[0].reason.endswith("P1 carries it")


@pytest.mark.parametrize("content", [CHANGED, UNKNOWN, PRESENT])
def test_only_absence_asks_for_a_backport(content):
    """Near miss: what cannot be told, and what is there, is tried and not taken over."""
    assert kinds(case(watch_row(Action.PORT), known(), pin(content))) == [K.TRIAL]


def test_one_absent_pin_among_the_unclear_is_not_enough():
    """Where nobody says which pin serves, all of them must lack it."""
    row = watch_row(Action.PORT)
    assert kinds(case(row, known(), pin(ABSENT, "a"), pin(CHANGED, "b"))) == [K.TRIAL]
    assert kinds(case(row, known(), pin(ABSENT, "a"), pin(ABSENT, "b"))) == [K.BACKPORT_WANTED]


def test_planned_work_that_is_named_and_not_built_is_still_planned():
    """The register ties the id to this pull request, and nobody built it: it is not a patch to be reviewed."""
    row = replace(PLANNED, trigger=Trigger.REVIEW)
    unbuilt = patch("P9", REF, implemented=False, active=False)
    assert kinds(case(row, known(), pin(PRESENT), patches=(unbuilt,))) == [K.BACKPORT_NOT_NEEDED]
