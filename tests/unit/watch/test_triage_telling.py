"""How decisions are told: reasons, evidence, severity, and the keys by which they are known again."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import Urgency
from genesisd.watch.model import Known, Lineage, LineageFact, PinFacts, State
from genesisd.watch.rows import Action, Severity
from genesisd.watch.triage import triage
from tests.unit.watch.cases import (
    ABSENT,
    CANDIDATE,
    CHANGED,
    CURRENT,
    MAX_AGE,
    NOW,
    OTHER,
    PRESENT,
    REF,
    RIVAL,
    anchor,
    case,
    collision,
    known,
    patch,
    pin,
    pull,
    sweep_row,
    watch_row,
)
from tests.unit.watch.decided import ANCHORED, OURS, PLANNED, RETIRING, K, only


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


def test_what_is_told_twice_has_the_evidence_of_both():
    """The row's own fix and the row itself ask to retire the same patch: one decision, with all pins and lines."""
    row = watch_row(Action.RETIRE, patches=("P1",), fix_upstream=REF)
    facts = {"fix": known(), "fix_pins": (pin(PRESENT, "candidate"),)}
    made = only(case(row, known(), pin(PRESENT), patches=(OURS,), **facts), K.RETIRE_CANDIDATE)
    assert set(made.pins) == {CURRENT, CANDIDATE}
    assert any(line.startswith("the fix vllm#1001") for line in made.evidence)
    assert len(made.evidence) == len(set(made.evidence))
