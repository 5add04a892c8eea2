"""What pins have of a pull request, over all pins that count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.held import ahead, counted, having, ids, lost, remembered, served
from genesisd.watch.model import Content, Lineage, Rung, State
from tests.unit.watch.cases import ABSENT, CANDIDATE, CHANGED, CURRENT, PRESENT, UNKNOWN, collision, pin, pull

OLD = (pin(PRESENT, lineage=Lineage.ANCESTOR, collisions=()), pin(ABSENT, "candidate", lineage=Lineage.ABSENT))
BLIND = (pin(UNKNOWN), pin(UNKNOWN, "candidate"))


def test_pins_that_play_a_part_count():
    """And all of them where none does."""
    assert counted((pin(), pin(slot="x"))) == (pin(),)
    assert counted((pin(slot="x"), pin(slot="y"))) == (pin(slot="x"), pin(slot="y"))
    assert having((pin(PRESENT, "x"), pin(CHANGED)), Content.PRESENT) == ()


def test_the_current_pin_serves():
    """Where nobody says which that is, all that count do."""
    assert ids(served((pin(), pin(slot="candidate")))) == (CURRENT,)
    assert ids(served((pin(slot="candidate"), pin(slot="rollback")))) == (CANDIDATE, pin(slot="rollback").pin)
    assert served(()) == ()


def test_what_the_rollback_pin_alone_has_is_behind():
    """A pin that plays two parts is not."""
    both = replace(pin(slot="rollback"), slots=("rollback", "candidate"))
    assert ahead((pin(slot="rollback"), both, pin())) == (both, pin())


def test_only_a_merge_can_be_lost():
    """What was never merged was never promised."""
    pins = (pin(ABSENT, lineage=Lineage.ANCESTOR),)
    assert lost(pull(), pins) == pins
    assert lost(pull(State.CLOSED), pins) == ()
    assert lost(None, pins) == ()


@pytest.mark.parametrize(
    ("had", "lacks", "told"),
    [
        (("rollback", "0.23.0 abc"), ("current", "0.24.0 def"), True),
        (("current", "0.24.0"), ("candidate", "0.24.1rc1.dev714+g2dfaae752"), True),
        (("current", "0.24.0"), ("candidate", "0.24.0"), True),
        (("rollback", ""), ("current", "0.24.0"), True),
        (("rollback", "0.25.0"), ("current", "0.24.0"), False),
        (("current", "0.24.0"), ("candidate", "0.24.0rc1"), False),
        (("candidate", "0.25.0"), ("current", "0.24.0"), False),
    ],
)
def test_what_fell_out_between_two_pins_fell_out_of_the_newer(had, lacks, told):
    """Where somebody went back to an older pin, or tries one, it never had what came later."""
    older, newer = (
        replace(pin(content, slot, Lineage.ABSENT), of=of) for content, (slot, of) in ((PRESENT, had), (ABSENT, lacks))
    )
    assert lost(pull(), (older, newer)) == ((newer,) if told else ())


def test_what_could_not_be_seen_is_remembered():
    """Of a merge, pin by pin: a night without diffs, trees or history changes nothing."""
    assert remembered(pull(), BLIND, OLD) == OLD
    assert remembered(pull(), BLIND[:1], OLD) == OLD[:1]
    assert remembered(pull(), BLIND, OLD[1:]) == (BLIND[0], OLD[1])


def test_what_is_seen_goes_before_what_was():
    """Each fact by itself: a pin may have been looked into while its history was out of reach."""
    now = (pin(CHANGED), pin(ABSENT, "candidate", lineage=Lineage.REVERTED, collisions=(collision(),)))
    found = remembered(pull(), now, OLD)
    assert found == (replace(now[0], lineage=OLD[0].lineage), now[1])
    assert remembered(pull(), (pin(UNKNOWN, collisions=(collision(),)),), OLD)[0].collisions == (collision(),)


def test_collisions_are_remembered_though_markers_still_speak():
    """A night without the diff: what it breaks stays told, unless the pin has it or had it."""
    broken = (collision(),)
    old = (pin(ABSENT, collisions=broken),)
    marked = replace(ABSENT, rung=Rung.MARKERS)
    assert remembered(pull(), (pin(marked),), old) == (pin(marked, collisions=broken),)
    assert remembered(pull(), (pin(PRESENT),), old) == (pin(PRESENT),)
    assert remembered(pull(), (pin(marked),), (pin(PRESENT, collisions=()),)) == (pin(marked),)
    assert remembered(pull(), (pin(marked, collisions=()),), old) == (pin(marked, collisions=()),)


def test_markers_that_were_taken_out_tell_nothing_any_more():
    """What a wrong marker told would ask to retire for ever; what lines told holds, and so does what was not looked at."""
    marked = (pin(replace(PRESENT, rung=Rung.MARKERS), lineage=Lineage.ANCESTOR),)
    assert remembered(pull(), BLIND[:1], marked) == marked
    assert remembered(pull(), BLIND[:1], marked, unmarked=[CANDIDATE]) == marked
    assert remembered(pull(), BLIND[:1], OLD, unmarked=[CURRENT]) == OLD[:1]
    assert remembered(pull(), BLIND[:1], marked, unmarked=[CURRENT]) == (pin(UNKNOWN, lineage=Lineage.ANCESTOR),)


@pytest.mark.parametrize("told", [None, pull(State.OPEN), pull(State.CLOSED)])
def test_what_may_have_another_diff_is_not_remembered(told):
    """Near miss: an open one may be pushed anew any day."""
    assert remembered(told, BLIND, OLD) == BLIND


def test_an_open_one_is_remembered_by_its_head():
    """As long as nobody pushed, its diff is the one that was looked at."""
    seen = tuple(replace(one, head="a" * 40) for one in OLD)
    still, pushed = (replace(pull(State.OPEN), head=one * 40) for one in "ab")
    assert [one.content for one in remembered(still, BLIND, seen)] == [one.content for one in OLD]
    assert remembered(pushed, BLIND, seen) == BLIND
    assert remembered(replace(still, head=None), BLIND, OLD) == BLIND
