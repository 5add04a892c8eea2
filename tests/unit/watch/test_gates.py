"""Pairs: what breaks a lane, what mends it, whom it concerns; and what a candidate brings."""

from __future__ import annotations

import pytest

from genesisd.watch.decisions import DecisionKind, Urgency
from genesisd.watch.gates import Barrier, Crossing, between, decisions, stand
from genesisd.watch.marker_spec import Gate
from genesisd.watch.model import Content, ContentFact, Pin, Rung
from genesisd.watch.refs import Ref

REPO = "vllm-project/vllm"
BREAKS, MENDS, TOO = Ref(REPO, 42890), Ref(REPO, 47609), Ref(REPO, 50533)
GATE = Gate(
    id="turboquant-cache-dtype",
    blocks=BREAKS,
    unless_any_of=(MENDS, TOO),
    lanes=("is_turboquant: true",),
    text="the engine does not boot",
    mend="wait for a pin with the fix",
)
TURBO, PLAIN, UNTOLD = {"is_turboquant": True}, {"is_turboquant": False}, {}


def contents(breaks, mends, too):
    facts = zip((BREAKS, MENDS, TOO), (breaks, mends, too), strict=True)
    return {ref: ContentFact(content, Rung.MARKERS, "seen") for ref, content in facts if content is not None}


def fact(*seen, workers=None, gate=GATE):
    return stand([gate], "next", contents(*seen), {"llm": TURBO} if workers is None else workers)[0]


HAS, NOT, CHANGED, NA, UNKNOWN = (
    Content.PRESENT,
    Content.ABSENT,
    Content.CHANGED,
    Content.NOT_APPLICABLE,
    Content.UNKNOWN,
)


@pytest.mark.parametrize(
    ("seen", "barrier"),
    [
        ((NOT, NOT, NOT), Barrier.OPEN),
        ((NA, NOT, NOT), Barrier.OPEN),
        ((NOT, UNKNOWN, None), Barrier.OPEN),
        ((HAS, HAS, NOT), Barrier.OPEN),
        ((HAS, NOT, HAS), Barrier.OPEN),
        ((CHANGED, CHANGED, HAS), Barrier.OPEN),
        ((UNKNOWN, NOT, HAS), Barrier.OPEN),
        ((HAS, NOT, NOT), Barrier.SHUT),
        ((HAS, NA, NOT), Barrier.SHUT),
        ((HAS, CHANGED, NOT), Barrier.DOUBTFUL),
        ((HAS, NOT, None), Barrier.DOUBTFUL),
        ((CHANGED, NOT, NOT), Barrier.DOUBTFUL),
        ((UNKNOWN, NOT, NOT), Barrier.DOUBTFUL),
        ((None, None, None), Barrier.DOUBTFUL),
    ],
)
def test_the_table(seen, barrier):
    """Shut wants what breaks for certain, and every mender's absence for certain; one mender opens it."""
    assert fact(*seen).barrier is barrier


def test_only_its_lane_is_blocked():
    """A worker of another lane is not concerned, and one of whom nothing is known only perhaps."""
    found = fact(HAS, NOT, NOT, workers={"llm": TURBO, "small": PLAIN, "new": UNTOLD})
    assert found.concerned == ("llm",)
    assert found.perhaps == ("new",)
    assert found.blocks
    assert not fact(HAS, NOT, NOT, workers={"small": PLAIN}).blocks


def test_a_gate_without_lanes_is_everybodys():
    """Without predicates every worker is concerned."""
    assert fact(HAS, NOT, NOT, workers={"small": PLAIN}, gate=GATE.model_copy(update={"lanes": ()})).blocks


def test_any_of_its_lanes_will_do():
    """Two lanes are two ways to be concerned; words within one must all hold."""
    gate = GATE.model_copy(update={"lanes": ("gpu.sm >= 100", "is_turboquant: true and gpu.count >= 2")})
    assert fact(HAS, NOT, NOT, gate=gate, workers={"llm": {"sm": 86, "is_turboquant": True, "n_gpus": 2}}).blocks
    assert not fact(HAS, NOT, NOT, gate=gate, workers={"llm": {"sm": 86, "is_turboquant": True, "n_gpus": 1}}).blocks
    assert fact(HAS, NOT, NOT, gate=gate, workers={"llm": {"is_turboquant": False}}).perhaps == ("llm",)


PINS = (Pin(id="now", version="0.25.1", slots=("current",)), Pin(id="next", version="0.26.0", slots=("candidate",)))


def test_a_shut_gate_on_the_current_pin_is_urgent():
    """It asks for a decision at once, with the evidence of the whole pair."""
    facts = stand([GATE], "now", contents(HAS, NOT, NOT), {"llm": TURBO})
    (made,) = decisions(facts, PINS)
    assert (made.kind, made.urgency, made.severity) == (DecisionKind.PAIR_GATE, Urgency.NOW, "P0")
    assert (made.row, made.ref, made.pins, made.patches) == ("", BREAKS, ("now",), ())
    assert "llm" in made.reason
    assert "none of vllm#47609, vllm#50533: the engine does not boot; wait for a pin" in made.reason
    assert [one.partition(":")[0] for one in made.evidence] == ["vllm#42890", "vllm#47609", "vllm#50533"]


def test_a_shut_gate_on_a_candidate_is_soon():
    """Nobody is served from there yet."""
    (made,) = decisions([fact(HAS, NOT, NOT)], PINS)
    assert (made.urgency, made.severity) == (Urgency.SOON, "P1")


def test_a_doubtful_gate_asks_someone_to_look():
    """Where it cannot be told, a person looks later, under a key of its own."""
    (doubt,), (shut,) = decisions([fact(HAS, CHANGED, NOT)], PINS), decisions([fact(HAS, NOT, NOT)], PINS)
    assert doubt.urgency is Urgency.LATER
    assert doubt.key != shut.key


def test_a_worker_that_may_be_of_the_lane_is_told_so():
    """A shut gate and a worker of whom the lane cannot be told are worth a word, and no alarm."""
    (made,) = decisions([fact(HAS, NOT, NOT, workers={"new": UNTOLD})], PINS)
    assert "new, if that is its lane" in made.reason
    assert made.urgency is Urgency.LATER


@pytest.mark.parametrize(
    ("seen", "workers"),
    [
        ((HAS, HAS, NOT), {"llm": TURBO}),
        ((HAS, NOT, NOT), {"small": PLAIN}),
        ((HAS, NOT, NOT), {}),
        ((HAS, CHANGED, NOT), {"new": UNTOLD}),
    ],
    ids=["mended", "other-lane", "nobody", "doubt-and-perhaps"],
)
def test_nothing_is_asked_of_nobody(seen, workers):
    """A mended pair, another's lane, no worker, or two doubts at once are no decision."""
    assert decisions([fact(*seen, workers=workers)], PINS) == ()


def test_the_same_gate_is_the_same_decision_again():
    """The key holds the gate and the pin, so that an answer stays an answer."""
    assert decisions([fact(HAS, NOT, NOT)], PINS)[0].key == decisions([fact(HAS, NA, NOT)], PINS)[0].key


def test_what_a_candidate_brings_and_loses():
    """Newly merged is what the current pin certainly lacks and the candidate certainly has."""
    refs = [Ref(REPO, number) for number in range(1, 9)]
    pairs = [
        (NOT, HAS),
        (NA, HAS),
        (HAS, NOT),
        (HAS, HAS),
        (CHANGED, HAS),
        (HAS, UNKNOWN),
        (CHANGED, UNKNOWN),
        (NOT, NA),
    ]
    now, then = ({ref: ContentFact(pair[side]) for ref, pair in zip(refs, pairs, strict=True)} for side in range(2))
    assert between(now, then) == Crossing(merged=tuple(refs[:2]), lost=(refs[2],), unclear=(refs[4], refs[5]))


def test_what_only_one_pin_was_judged_on_is_unclear():
    """A pull request that the current pin was never judged on is not newly merged."""
    assert between({}, {BREAKS: ContentFact(HAS)}) == Crossing(unclear=(BREAKS,))
