"""The watchlist that came with the project, with public facts of its pull requests: every row comes to something."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime

import pytest

from genesisd.watch.clusters import clusters, proposals
from genesisd.watch.decisions import DecisionKind
from genesisd.watch.model import Content, ContentFact, Known, PinFacts, Pull, Rung, State
from genesisd.watch.refs import Ref
from genesisd.watch.rows import row_id
from genesisd.watch.triage import Grounds, triage_all
from genesisd.watch.watchlist import load
from genesisd.wiring.patch_facts import PatchFacts
from tests.helpers.watchlists import ROOT, SEED, WHY_NO_SEED

FACTS = ROOT.parent / "shared" / "fixtures" / "pull_requests.json"
NOW = datetime(2026, 11, 30, tzinfo=UTC).timestamp()
HOPS = [("0.23.0", "0.24.0"), ("0.24.0", "0.25.1"), ("0.26.0", "0.28.0"), ("0.32.0", "0.33.0")]
K = DecisionKind

pytestmark = pytest.mark.skipif(not (SEED.exists() and FACTS.exists()), reason=WHY_NO_SEED)


@pytest.fixture(scope="module")
def told() -> list[dict]:
    return json.loads(FACTS.read_text())


@pytest.fixture(scope="module")
def seed():
    return load(SEED)


@pytest.fixture(scope="module")
def register() -> PatchFacts:
    return PatchFacts()


def day(text: str | None) -> float | None:
    return None if text is None else datetime.fromisoformat(text[:10]).replace(tzinfo=UTC).timestamp()


def known(fact: dict) -> Known:
    """What is not certain is unknown."""
    ref = Ref(fact["repo"], fact["number"])
    if fact["state"] is None or fact["state_confidence"] != "high":
        return Known(ref)
    facts = {"ref": ref, "state": State(fact["state"]), "checked_at": NOW - 60, "is_issue": fact["kind"] == "issue"}
    return Known(ref, Pull(**facts, title=fact["title"] or "", merged_at=day(fact["merged_at"])))


def content(fact: dict, version: str) -> ContentFact:
    """A needle that was there and is no more shows a place that was rewritten."""
    seen = fact["content_present_in"]
    if not seen or seen.get(version) is None:
        return ContentFact()
    if seen[version]:
        return ContentFact(Content.PRESENT, Rung.MARKERS, fact["needle"])
    before = list(seen)[: list(seen).index(version)]
    return ContentFact(
        Content.CHANGED if any(seen[one] for one in before) else Content.ABSENT, Rung.MARKERS, fact["needle"]
    )


def sweep(seed, told, register, current: str, candidate: str):
    """Every decision for two pins."""
    pins = {
        Ref(fact["repo"], fact["number"]): (
            PinFacts(pin=current, slots=("current",), content=content(fact, current)),
            PinFacts(pin=candidate, slots=("candidate",), content=content(fact, candidate)),
        )
        for fact in told
    }
    states = {one.ref: one for one in map(known, told)}
    grounds = Grounds(
        known=states, pins=pins, patches=register.facts(), find=register.find, now=NOW, max_age=2 * 86400.0
    )
    return triage_all(seed, grounds), pins, states


@pytest.mark.parametrize(("current", "candidate"), HOPS)
def test_every_row_has_a_decision_with_evidence(seed, told, register, current, candidate):
    """113 rows, whatever the pins; keys are used once, and what asks for action rests on the files."""
    made, pins, states = sweep(seed, told, register, current, candidate)
    rows = [row_id(row) for row in (*seed.watch, *seed.sweep)]
    assert len(rows) == 113
    assert set(rows) == {one.row for one in made}
    assert all(one.evidence and one.reason for one in made)
    assert [key for key, count in Counter(one.key for one in made).items() if count > 1] == []
    for one in made:
        found = {pin.content.content for pin in pins.get(one.ref, ())}
        if one.kind in {K.RETIRE_CANDIDATE, K.BACKPORT_NOT_NEEDED}:
            assert Content.PRESENT in found, one
        if one.kind is K.BACKPORT_WANTED:
            assert Content.ABSENT in found, one
        if one.kind is K.TRIGGER_DEAD:
            assert states[one.ref].pull.state is not State.MERGED, one
    unknown = {one.ref for one in made if one.kind is K.STALE}
    named = set(seed.refs())
    assert unknown == {ref for ref in named if ref not in states or states[ref].pull is None}


@pytest.mark.parametrize(
    ("row", "current", "candidate", "kind"),
    [
        # Content of planned work: not yet, with the candidate, and in the pin that serves.
        ("sweep:vllm#45196", "0.23.0", "0.24.0", K.BACKPORT_NOT_NEEDED),
        ("sweep:vllm#45196", "0.22.1", "0.23.0", K.BACKPORT_WANTED),
        ("sweep:vllm#45202", "0.28.0", "0.30.0", K.BACKPORT_NOT_NEEDED),  # closed, landed by another hand
        ("sweep:vllm#45202", "0.24.0", "0.25.1", K.TRIGGER_DEAD),
        # Four that were recorded wrongly by hand before.
        ("watch:vllm#42006", "0.32.0", "0.33.0", K.TRIGGER_DEAD),
        ("watch:vllm#42237", "0.32.0", "0.33.0", K.TRIGGER_DEAD),
        ("watch:vllm#43074", "0.32.0", "0.33.0", K.TRIGGER_DEAD),
        ("watch:vllm#40886", "0.32.0", "0.33.0", K.NOTE),
        # Merged a day after a cut: it is not in that pin, and in the next one.
        ("sweep:vllm#42890", "0.24.0", "0.25.1", K.REVIEW),
        ("watch:vllm#43803", "0.23.0", "0.24.0", K.TRIAL),
        ("watch:vllm#43803", "0.20.2", "0.22.1", K.NOTE),
        ("watch:vllm#37951", "0.32.0", "0.33.0", K.STALE),
        ("watch:Sandermage/sndr_core_engine#1", "0.32.0", "0.33.0", K.COOKBOOK),
    ],
)
def test_rows_that_are_known_well(seed, told, register, row, current, candidate, kind):
    """What people found out about these by hand is what the facts come to."""
    made, _, _ = sweep(seed, told, register, current, candidate)
    assert kind in {one.kind for one in made if one.row == row}


def test_a_breaker_is_a_regression_until_its_fix_is_there(seed, told, register):
    """vllm#43409 broke expert outputs and vllm#45656 mends them: with the one in a pin and the other not, P0 and now."""
    fact = next(one for one in told if one["number"] == 43409)
    with_it = {**fact, "content_present_in": {"0.23.0": True, "0.24.0": True}, "needle": "no guard"}
    changed = [with_it if one is fact else one for one in told]
    made, _, _ = sweep(seed, changed, register, "0.23.0", "0.24.0")
    found = [one for one in made if one.kind is K.REGRESSION]
    assert [(one.row, one.pins, one.severity, one.urgency) for one in found] == [
        ("watch:vllm#43409", ("0.23.0",), "P0", "now")
    ]
    made, _, _ = sweep(seed, changed, register, "0.24.0", "0.24.0")
    assert [one for one in made if one.kind is K.REGRESSION] == []


def test_the_racing_cluster_and_its_rivals_in_prose(seed, register):
    """Eight pull requests compete for one overlay, as its rows say; one more is named in prose alone."""
    found = {one.name: one.members for one in clusters(seed, register.find)}
    assert {ref.number for ref in found["G4_T1"]} == {42006, 42237, 42300, 45068, 44877, 44844, 44717, 44752}
    named = {(one.patch, ref.number) for one in proposals(seed, register.find) for ref in one.refs}
    assert {("G4_T1", 44741), ("PN367", 44745), ("Q3_T1", 40861)} <= named
    assert not {number for _, number in named} & {44715, 45413, 178, 145}
