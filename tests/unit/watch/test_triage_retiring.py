"""Giving a patch up: one case that asks for it, and one near to it that does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.model import Content, ContentFact, Lineage
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
    watch_row,
)
from tests.unit.watch.decided import OURS, RETIRING, K, kinds, only


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
