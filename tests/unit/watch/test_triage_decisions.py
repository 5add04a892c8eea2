"""Each kind of decision: one case that asks for it, and one near to it that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.patches.resolve import Gate
from genesisd.watch.answers import hold
from genesisd.watch.clusters import Cluster, Race
from genesisd.watch.decisions import DecisionKind, Urgency
from genesisd.watch.model import (
    Content,
    ContentFact,
    Known,
    Lineage,
    LineageFact,
    PinFacts,
    State,
    Unanswered,
    WhyUnknown,
)
from genesisd.watch.rows import Action, Severity, Trigger
from genesisd.watch.table import Hold
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CHANGED,
    CURRENT,
    DAY,
    FIX,
    MAX_AGE,
    NOW,
    OTHER,
    PRESENT,
    REF,
    RIVAL,
    UNKNOWN,
    anchor,
    by_hand,
    case,
    collision,
    known,
    patch,
    pin,
    pull,
    sweep_row,
    watch_row,
)

K = DecisionKind


def kinds(case_) -> list[DecisionKind]:
    return [made.kind for made in triage(case_)]


def only(case_, kind: DecisionKind):
    found = [made for made in triage(case_) if made.kind is kind]
    assert len(found) == 1, kinds(case_)
    return found[0]


RETIRING = sweep_row(Trigger.RETIRE, patches=("P1",))
OURS = patch("P1", REF, required=True)


# retire-candidate


def test_content_in_a_pin_makes_a_retire_candidate():
    """A dossier is asked for, for the pin that has the content."""
    made = only(case(RETIRING, known(), pin(PRESENT), patches=(OURS,)), K.RETIRE_CANDIDATE)
    assert made.patches == ("P1",)
    assert made.pins == (CURRENT,)
    assert "dossier" in made.reason
    assert made.evidence[0] == f"vllm#1001 in {CURRENT} (current): content present by reverse-apply (vllm/a.py:10)"
    assert made.key == "retire-candidate|vllm#1001|P1"


def test_each_patch_is_retired_by_itself():
    """A dossier is about one patch, so each has its decision, and its own marker is shown with it."""
    row = replace(RETIRING, patches=("P1", "P2"))
    anchors = (anchor("P2", superseded=True), anchor("P9", superseded=True))
    made = triage(case(row, known(), pin(PRESENT), patches=(OURS, patch("P2")), anchors=anchors))
    assert [(one.kind, one.patches) for one in made] == [(K.RETIRE_CANDIDATE, ("P1",)), (K.RETIRE_CANDIDATE, ("P2",))]
    marker = f"P2 on {CURRENT}: one of its own markers of upstream's fix is there"
    assert [marker in one.evidence for one in made] == [False, True]
    assert not any("P9" in line for one in made for line in one.evidence)


@pytest.mark.parametrize("lineage", [Lineage.ANCESTOR, Lineage.CHERRY_PICKED, Lineage.UNKNOWN])
@pytest.mark.parametrize("content", [CHANGED, UNKNOWN, ContentFact(Content.NOT_APPLICABLE)])
def test_a_merge_without_content_retires_nothing(content, lineage):
    """Near miss: that the merge is in the history is no proof; a person looks into the files."""
    assert kinds(case(RETIRING, known(), pin(content, lineage=lineage), patches=(OURS,))) == [K.REVIEW]


def test_a_retired_patch_is_no_candidate():
    """Near miss: there is nothing to give up any more."""
    gone = replace(OURS, active=False, retired=True)
    made = triage(case(RETIRING, known(), pin(PRESENT), patches=(gone,)))
    assert [one.kind for one in made] == [K.NOTE]
    assert made[0].reason.endswith("P1 ended already")


def test_a_successor_takes_the_decision_away():
    """Near miss: a patch that gave way to another is not retired again."""
    gone = replace(OURS, active=False, superseded_by="P2")
    made = triage(case(RETIRING, known(), pin(PRESENT), patches=(gone,)))
    assert [one.kind for one in made] == [K.NOTE]
    assert "P1 gave way to P2" in made[0].evidence


def test_a_pin_to_come_leaves_the_current_one_its_patch():
    """The candidate has the content, and the reason says that the current pin still needs ours."""
    made = only(case(RETIRING, known(), pin(ABSENT), pin(PRESENT, "candidate"), patches=(OURS,)), K.RETIRE_CANDIDATE)
    assert made.pins == (CANDIDATE,)
    assert f"{CURRENT} (current) still needs it" in made.reason


def test_the_rollback_pin_alone_retires_nothing():
    """Near miss: what only an older pin has says nothing of those to come."""
    assert kinds(case(RETIRING, known(), pin(PRESENT, "rollback"), pin(CHANGED), patches=(OURS,))) == [K.REVIEW]


def test_the_fix_in_a_pin_retires_what_carries_it():
    """A patch of ours that carries the fix of what the row watches is a candidate once a pin has the fix."""
    row = watch_row(Action.DRIFT_CHECK, patches=("P1",), fix_upstream=FIX)
    carrier = patch("P1", FIX)
    facts = {"fix": known(ref=FIX), "fix_pins": (pin(PRESENT),)}
    made = only(case(row, known(), pin(PRESENT), patches=(carrier,), **facts), K.RETIRE_CANDIDATE)
    assert (made.ref, made.patches, made.pins) == (FIX, ("P1",), (CURRENT,))
    other = case(row, known(), pin(PRESENT), patches=(patch("P1", OTHER),), **facts)
    assert kinds(other) == [K.NOTE]
    lost = {"fix": known(ref=FIX), "fix_pins": (pin(PRESENT), pin(ABSENT, "candidate"))}
    assert K.RETIRE_CANDIDATE not in kinds(case(row, known(), pin(PRESENT), patches=(carrier,), **lost))
    ended = replace(carrier, active=False, retired=True)
    assert kinds(case(row, known(), pin(PRESENT), patches=(ended,), **facts)) == [K.NOTE]


# re-anchor-needed

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


ANCHORED = sweep_row(Trigger.REANCHOR, patches=("P1",))


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


# review


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

PLANNED = sweep_row(Trigger.RETIRE, planned="P9 (a guard)", planned_ids=("P9",))


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


# trigger-can-never-fire


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


# regression-in-pin


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


BREAKER = watch_row(Action.WATCH, severity="P0-correctness", patches=("P1",), fix_upstream=FIX)


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


# trial, cookbook, note


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


def test_lineage_is_shown_with_its_evidence():
    """How it was found, and what shows it, stands beside the content."""
    fact = PinFacts(pin="x", content=PRESENT, lineage=LineageFact(Lineage.CHERRY_PICKED, "trailer", "3f5a1e1"))
    made = only(case(RETIRING, known(), fact, patches=(OURS,)), K.RETIRE_CANDIDATE)
    assert made.evidence[0].endswith(", lineage cherry-picked by trailer (3f5a1e1)")


def test_a_twin_lends_its_severity():
    """What the watch row says of a pull request counts for its sweep row too, as written."""
    made = only(case(RETIRING, known(), pin(PRESENT), patches=(OURS,), severity=Severity.P0), K.RETIRE_CANDIDATE)
    assert (made.severity, made.derived, made.urgency) == ("P0", False, Urgency.SOON)


@pytest.mark.parametrize(
    ("facts", "keys"),
    [
        (case(watch_row(), known(State.OPEN)), ["note|watch:vllm#1001"]),
        (case(watch_row(), known(None)), ["unknown|vllm#1001"]),
        (case(watch_row(Action.COOKBOOK), known(State.OPEN)), ["cookbook|watch:vllm#1001"]),
        (case(sweep_row(), known(), pin(ABSENT)), ["review|vllm#1001|merged"]),
        (case(sweep_row(), known(), pin(CHANGED)), ["review|vllm#1001|merged"]),
        (case(sweep_row(), known(), pin(PRESENT)), ["review|vllm#1001|in a pin"]),
        (case(sweep_row(), known(State.CLOSED), pin(PRESENT)), ["review|vllm#1001|in a pin"]),
        (case(sweep_row(), known(State.CLOSED, is_issue=True)), ["review|vllm#1001|closed"]),
        (
            case(sweep_row(), known(State.OPEN), proposed=(RIVAL, OTHER)),
            ["review|vllm#1001|rivals|vllm#1003, vllm#1004"],
        ),
        (
            case(watch_row(Action.AB_TEST), known(), pin(PRESENT), patches=(patch("P1"), patch("P2"))),
            ["trial|vllm#1001|P1,P2"],
        ),
        (case(sweep_row(), known(State.CLOSED)), ["trigger-can-never-fire|vllm#1001|"]),
        (case(PLANNED, known(), pin(ABSENT)), ["backport-wanted|vllm#1001|"]),
        (case(PLANNED, known(), pin(PRESENT)), ["backport-no-longer-needed|vllm#1001|"]),
    ],
)
def test_keys_stay_what_they_are(facts, keys):
    """They are kept for years, and an answer holds for its key: another spelling would ask everything again."""
    assert [made.key for made in triage(facts)] == keys


def test_planned_work_that_is_named_and_not_built_is_still_planned():
    """The register ties the id to this pull request, and nobody built it: it is not a patch to be reviewed."""
    row = replace(PLANNED, trigger=Trigger.REVIEW)
    unbuilt = patch("P9", REF, implemented=False, active=False)
    assert kinds(case(row, known(), pin(PRESENT), patches=(unbuilt,))) == [K.BACKPORT_NOT_NEEDED]


def test_reasons_are_whole_sentences():
    """Each half says its part, and nothing stands where there is nothing to say."""
    hit = collision(text="")
    found = only(
        case(sweep_row(), known(State.OPEN), pin(ABSENT, collisions=(hit,)), register={"P1": patch()}), K.REANCHOR
    )
    assert found.reason == "vllm#1001 breaks a required anchor of P1: re-anchor it before its merge"
    assert found.evidence[0] == f"P1 e1 in vllm/a.py of {CURRENT}: inside the anchor, found 1 times before and 0 after"
    merged = only(case(sweep_row(), known(), pin(ABSENT, collisions=(hit,)), register={"P1": patch()}), K.REANCHOR)
    assert merged.reason.endswith("re-anchor it before the next pin that has it")
    old = Known(REF, pull(checked_at=NOW - MAX_AGE - 1))
    assert only(case(watch_row(), old), K.STALE).reason.endswith("too long ago to rely on")
    waiting = only(case(RETIRING, known(), pin(ABSENT), patches=(OURS,)), K.NOTE)
    assert waiting.reason == f"vllm#1001 is merged, and not in {CURRENT} (current): P1 stays until it has it"
    holds = only(case(ANCHORED, known(), pin(PRESENT), patches=(patch(),), anchors=(anchor(),)), K.REVIEW)
    assert holds.reason.endswith("the anchors hold; see that the patch still means the same")


def test_a_required_anchor_is_graver_than_the_row():
    """The row is written as P3; a required patch that does not land is P1, derived."""
    row = watch_row(Action.DRIFT_CHECK, patches=("P1",), severity="P3-perf")
    facts = {"patches": (patch("P1", required=True),), "anchors": (anchor(lands=False),)}
    made = only(case(row, known(State.OPEN), pin(ABSENT), **facts), K.REANCHOR)
    assert (made.severity, made.derived) == ("P1", True)
    mild = {"patches": (patch("P1"),), "anchors": (anchor(lands=False),)}
    made = only(case(row, known(State.OPEN), pin(ABSENT), **mild), K.REANCHOR)
    assert (made.severity, made.derived) == ("P2", True)


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


def test_what_is_told_twice_has_the_evidence_of_both():
    """The row's own fix and the row itself ask to retire the same patch: one decision, with all pins and lines."""
    row = watch_row(Action.RETIRE, patches=("P1",), fix_upstream=REF)
    facts = {"fix": known(), "fix_pins": (pin(PRESENT, "candidate"),)}
    made = only(case(row, known(), pin(PRESENT), patches=(OURS,), **facts), K.RETIRE_CANDIDATE)
    assert set(made.pins) == {CURRENT, CANDIDATE}
    assert any(line.startswith("the fix vllm#1001") for line in made.evidence)
    assert len(made.evidence) == len(set(made.evidence))
