"""What is told of decisions: each once, and once more where it has become pressing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Standing, Urgency
from genesisd.wiring.watch_telling import DECIDED, Telling
from tests.fakes.watch_facts import MemoryFacts
from tests.helpers.watched_box import Heard
from tests.unit.watch.cases import REF

MADE = Decision(
    kind=DecisionKind.REGRESSION, row="watch:vllm#1001", ref=REF, urgency=Urgency.SOON, reason="lost", key="k"
)
KEPT = KeptDecision(id=7, decision=MADE, opened=100.0, seen=100.0)
NOW = replace(KEPT, decision=replace(MADE, urgency=Urgency.NOW))


@pytest.fixture
def facts():
    return MemoryFacts()


async def told(facts, *kept: KeptDecision) -> list[str]:
    """The kinds of events, by a daemon that has just begun."""
    sink = Heard()
    await Telling(sink, None, facts).decided(kept)
    return [kind.removeprefix("watch_decision_") for kind, _ in sink.events]


async def test_what_becomes_pressing_is_told_once_more(facts):
    """The pin that lost it serves by now: whoever heard that it can wait is to hear that it cannot."""
    assert await told(facts, KEPT) == ["opened"]
    assert await told(facts, KEPT) == []
    assert await told(facts, NOW) == ["urgent"]
    assert await told(facts, NOW) == []


async def test_what_becomes_less_pressing_is_no_news(facts):
    """Near miss: and if it is pressing again, it is told again."""
    assert [await told(facts, one) for one in (NOW, KEPT, KEPT, NOW)] == [["urgent"], [], [], ["urgent"]]


async def test_what_opens_again_is_told_again(facts):
    """Also what an earlier version noted by its time alone."""
    await facts.note(DECIDED, {"7": 100.0})
    assert await told(facts, KEPT) == []
    assert await told(facts, replace(KEPT, opened=200.0)) == ["opened"]
    assert await told(facts, replace(KEPT, standing=Standing.PASSED)) == ["passed"]
    assert await told(facts, replace(KEPT, standing=Standing.PASSED)) == []
