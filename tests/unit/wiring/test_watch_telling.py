"""What is told of decisions: each once, and once more where it has become pressing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.cost import Release
from genesisd.watch.decisions import Decision, DecisionKind, KeptDecision, Standing, Urgency
from genesisd.watch.kinds import SweepKind
from genesisd.watch.result import SweepResult
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


async def test_a_release_that_was_withdrawn_makes_no_older_one_new(facts):
    """Only what comes before all that was told is a release to be seen."""
    sink = Heard()
    telling = Telling(sink, None, facts)

    async def seen(*releases: Release) -> list[str]:
        before = len(sink.of("watch_release_seen"))
        result = SweepResult(kind=SweepKind.NIGHTLY, window="w", started=0.0, releases=releases)
        await telling._released(result)
        return [told["version"] for told in sink.of("watch_release_seen")[before:]]

    old, new, newest = (Release(package="vllm", version=f"0.{n}.0") for n in (31, 32, 33))
    assert await seen(new, old) == []  # at the first sweep every release is new
    assert await seen(newest, new, old) == ["0.33.0"]
    assert await seen(replace(newest, yanked=True), new, old) == []
    assert await seen(newest, new, old) == []
    assert await seen(new, old) == ["0.32.0"]  # the other one is gone altogether
