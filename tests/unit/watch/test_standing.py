"""What becomes of decisions, made again or not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Standing
from genesisd.watch.standing import answered, meet, predicates, revisit
from tests.unit.watch.cases import NOW, REF

MADE = Decision(kind=DecisionKind.REVIEW, row="watch:vllm#1001", ref=REF, reason="then", key="a")
NEW = replace(MADE, reason="now")
KEPT = KeptDecision(id=7, decision=MADE, opened=NOW - 500, seen=NOW - 100)
WHEN = ("gpu.sm >= 89", "model: x")


def kept(standing: Standing, **more) -> KeptDecision:
    return replace(KEPT, standing=standing, by="root", why="no", **more)


def lists(meeting) -> dict[str, tuple]:
    found = {name: getattr(meeting, name) for name in ("opened", "again", "passed", "reopened")}
    return {name: value for name, value in found.items() if value}


def true(text: str) -> bool:
    return text == WHEN[1]


def test_what_was_never_made_before_opens():
    """Once, though it is made twice: the first counts."""
    assert lists(meet((), (MADE, NEW), NOW, covers=None)) == {"opened": (MADE,)}


def test_what_is_made_again_is_seen_again():
    """As it is made now; when it was opened stays."""
    assert lists(meet((KEPT,), (NEW,), NOW, covers=None)) == {"again": (replace(KEPT, decision=NEW, seen=NOW),)}


@pytest.mark.parametrize(
    "old",
    [
        kept(Standing.ACCEPTED),
        kept(Standing.DECLINED),
        kept(Standing.DECLINED, revisit_when=WHEN[:1]),
        kept(Standing.SNOOZED, until=NOW + 1),
        kept(Standing.SNOOZED, until=NOW + 1, revisit_when=WHEN[:1]),
        kept(Standing.ACCEPTED, revisit_when=WHEN),
    ],
)
def test_an_answer_holds_for_its_key(old):
    """Near miss: it is not asked again while nothing of what it waits for has come."""
    assert lists(meet((old,), (NEW,), NOW, covers=None, is_true=true)) == {
        "again": (replace(old, decision=NEW, seen=NOW),)
    }


@pytest.mark.parametrize(
    "old",
    [
        kept(Standing.DECLINED, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW + 1, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW),
        kept(Standing.SNOOZED, until=NOW - 1),
        kept(Standing.PASSED),
    ],
)
def test_what_comes_true_opens_again(old):
    """A predicate turned true, the snooze is over, or the facts ask again; who said what before stays to be read."""
    meeting = meet((old,), (NEW,), NOW, covers=None, is_true=true)
    opened = replace(old, decision=NEW, seen=NOW, opened=NOW, standing=Standing.OPEN, until=None, revisit_when=())
    assert lists(meeting) == {"reopened": (opened,)}
    assert (opened.by, opened.why) == ("root", "no")


def test_a_note_that_comes_back_is_no_news():
    """It is open again, and among those that were seen again."""
    note = replace(NEW, kind=DecisionKind.NOTE)
    meeting = meet((kept(Standing.PASSED),), (note,), NOW, covers=None)
    assert [one.standing for one in meeting.again] == [Standing.OPEN]
    assert meeting.reopened == ()


def test_what_is_not_made_again_has_passed():
    """Where it was open, its snooze is over, or somebody said yes: then it is done, and who said so stays to be read."""
    for old in (KEPT, kept(Standing.SNOOZED, until=NOW), kept(Standing.ACCEPTED)):
        assert lists(meet((old,), (), NOW, covers=None)) == {
            "passed": (replace(old, standing=Standing.PASSED, until=None),)
        }


@pytest.mark.parametrize(
    "old",
    [
        kept(Standing.DECLINED, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW + 1),
        kept(Standing.PASSED),
    ],
)
def test_a_no_outlives_the_facts(old):
    """Near miss: nothing changes, so that it need not be given again should they come back."""
    assert lists(meet((old,), (), NOW, covers=None, is_true=true)) == {}


def test_what_was_accepted_and_comes_back_is_asked_anew():
    """An anchor was mended as promised, and a later push breaks it once more: nobody promised that."""
    accepted = kept(Standing.ACCEPTED)
    (done,) = meet((accepted,), (), NOW, covers=None).passed
    (again,) = meet((done,), (NEW,), NOW + 1, covers=None).reopened
    assert (again.standing, again.opened, again.by) == (Standing.OPEN, NOW + 1, "root")


def test_only_rows_that_were_looked_at_can_pass():
    """An hourly sweep closes nothing of the other rows, nor what no row stands for."""
    gate = replace(KEPT, id=8, decision=replace(MADE, row="", key="gate"))
    assert lists(meet((KEPT, gate), (), NOW, covers=("watch:vllm#1",))) == {}
    assert [one.id for one in meet((KEPT, gate), (), NOW, covers=("watch:vllm#1001",)).passed] == [7]
    assert [one.id for one in meet((KEPT, gate), (), NOW, covers=None).passed] == [7, 8]


def test_a_second_meeting_changes_nothing():
    """What stands after the first stands after the second."""
    first = meet((KEPT,), (NEW,), NOW, covers=None)
    second = meet(first.again, (NEW,), NOW + 1, covers=None)
    assert lists(second) == {"again": (replace(first.again[0], seen=NOW + 1),)}


def test_revisiting_opens_at_once():
    """Without a sweep: what waits for a predicate that is true now, and snoozes that are over; nothing else."""
    old = [
        kept(Standing.DECLINED, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW + 9, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW),
        kept(Standing.DECLINED, revisit_when=WHEN[:1]),
        kept(Standing.DECLINED),
        kept(Standing.SNOOZED, until=NOW + 9),
        kept(Standing.ACCEPTED, revisit_when=WHEN),
        kept(Standing.PASSED, revisit_when=WHEN),
        KEPT,
    ]
    opened = revisit(old, NOW, true)
    assert opened == tuple(
        replace(one, standing=Standing.OPEN, opened=NOW, until=None, revisit_when=()) for one in old[:3]
    )
    assert revisit(opened, NOW, true) == ()


def test_what_is_waited_for_is_known():
    """Each predicate once, of declined and snoozed decisions alone."""
    old = [
        kept(Standing.DECLINED, revisit_when=WHEN),
        kept(Standing.SNOOZED, until=NOW, revisit_when=("gpu.count >= 2", WHEN[0])),
        kept(Standing.ACCEPTED, revisit_when=("pin: >=1",)),
        kept(Standing.OPEN, revisit_when=("pin: >=2",)),
    ]
    assert predicates(old) == (*WHEN, "gpu.count >= 2")


def test_an_answer_takes_the_place_of_an_earlier_one():
    """With who gave it and why."""
    first = answered(KEPT, Standing.DECLINED, by="root", why="not here", revisit_when=WHEN)
    assert first == replace(KEPT, standing=Standing.DECLINED, by="root", why="not here", revisit_when=WHEN)
    second = answered(first, Standing.SNOOZED, by="uid 1", why="later", until=NOW + 9)
    assert second == replace(KEPT, standing=Standing.SNOOZED, by="uid 1", why="later", until=NOW + 9)
    third = answered(second, Standing.ACCEPTED, by="root", why="yes", revisit_when=WHEN)
    assert third == replace(KEPT, standing=Standing.ACCEPTED, by="root", why="yes")


@pytest.mark.parametrize(
    ("old", "standing", "until", "said"),
    [
        (KEPT, Standing.OPEN, None, "an answer is one of accepted, declined, snoozed, not open"),
        (KEPT, Standing.PASSED, None, "not passed"),
        (kept(Standing.PASSED), Standing.ACCEPTED, None, "decision 7 has passed"),
        (KEPT, Standing.SNOOZED, None, "a snooze has an end"),
        (KEPT, Standing.DECLINED, NOW, "nothing else has"),
    ],
)
def test_what_is_no_answer_is_refused(old, standing, until, said):
    """The error says why."""
    with pytest.raises(ValueError, match=said):
        answered(old, standing, by="root", why="", until=until)
