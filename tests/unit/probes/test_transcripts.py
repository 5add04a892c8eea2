"""The judges against thousands of answers of the real vLLM: silent on all of them, and awake when they are spoilt."""

import random
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from genesisd.probes.judging.degeneration import grammar, wrong
from tests.transcripts import mutations
from tests.transcripts.corpus import Transcript, read, transcripts
from tests.transcripts.judged import judges

SAMPLE = 500
"""Answers that each mutation is tried on."""


@cache
def fitting(kind: str) -> list[Transcript]:
    """In an order of its own, the same each time. Under a grammar repetitions are not looked for."""
    free = kind == "degeneration"
    found = [one for one in transcripts() if kind in judges(one) and not (free and grammar(one.body))]
    random.Random(f"transcripts for {kind}").shuffle(found)
    return found


def test_the_corpus_is_large_and_varied() -> None:
    """Over ten thousand answers, at all temperatures, streamed and whole, under two parsers and none."""
    told = [one for one in transcripts() if one.path == "/v1/chat/completions"]
    assert len(told) > 10_000
    for knob in ("stream", "temperature", "max_tokens", "setting"):
        assert min(Counter(one.knobs[knob] for one in told).values()) > 1000, knob
    kinds = Counter(name for one in told for name in judges(one))
    assert min(kinds[name] for name in ("tool-calls", "reasoning", "structured-output")) > 300, kinds


def test_no_good_answer_is_called_wrong() -> None:
    """Not one false alarm over all chat answers, by every judge that applies to it."""
    alarms = [f"{one.knobs}: {name}: {fault}" for one in transcripts() for name, fault in _faults(one)]
    assert not alarms, "\n".join([f"{len(alarms)} false alarms", *alarms[:10]])


def _faults(one: Transcript) -> Iterator[tuple[str, str]]:
    said = one.said()
    for name, judge in judges(one).items():
        if fault := judge(said):
            yield name, fault


def test_a_model_asked_outside_its_template_may_lose_its_way() -> None:
    """A chat model that is made to go on with bare text does loop at times: true of the model, and told as garbage."""
    bare = [one for one in transcripts() if one.path == "/v1/completions"]
    lost = [one for one in bare if wrong(one.said())]
    assert (len(bare) > 500, 0 < len(lost) < 0.02 * len(bare)) == (True, True)


FLOORS = {
    "degeneration": {
        "flood": 0.98,
        "stuck": 0.99,
        "round_again": 0.95,  # the rest is longer than the longest unit
        "emptied": 1.0,
        "swallowed": 0.53,  # the rest had eight tokens or less, of which nothing need come
        "replaced": 0.96,
        "soup": 1.0,
        "not_a_number": 1.0,
        "shuffled": 0.0,  # words of the language in any order: the golden probe's matter
        "clipped": 0.0,  # as is what is lost of prose
        "stutter": 0.0,
    },
    "tool-calls": {
        "emptied": 1.0,
        "swallowed": 1.0,
        "call_dropped": 1.0,
        "call_doubled": 1.0,
        "call_renamed": 1.0,
        "call_as_text": 1.0,
        "tag_left": 1.0,
        "arguments_swapped": 1.0,
        "arguments_as_text": 1.0,
        "arguments_cut": 1.0,
        "argument_missing": 1.0,
        "calls_reordered": 1.0,
        "wrong_finish": 0.77,  # a named call may end either way
        "unclosed": 1.0,
    },
    "structured-output": {
        "flood": 1.0,
        "stuck": 1.0,
        "round_again": 1.0,
        "soup": 1.0,
        "emptied": 1.0,
        "swallowed": 1.0,
        "clipped": 1.0,
        "beheaded": 1.0,
        "prefaced": 1.0,
        "mark_left": 1.0,
        "unclosed": 1.0,
        "thoughts_as_words": 1.0,
        "shuffled": 0.98,
        "replaced": 0.96,  # any character may stand within a string
        "hole": 0.75,  # and be lost from it
        "stutter": 0.85,  # and come twice
    },
    "reasoning": {
        "emptied": 1.0,
        "swallowed": 1.0,
        "mark_left": 1.0,
        "unclosed": 1.0,
        "thoughts_as_words": 1.0,
        "thoughts_lost": 1.0,
        "flood": 0.0,  # what is said is not judged here, only whether it was told apart
        "clipped": 0.0,
    },
}
"""Share of spoilt answers that the kind's judge alone has to notice, as measured and rounded down."""


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, floors in FLOORS.items() for name in floors], ids=str
)
def test_spoilt_answers_are_noticed(kind: str, name: str, record_property: Callable[[str, object], None]) -> None:
    """At least as often as was measured; what a judge is blind to stands here with 0, and is never seen."""
    caught, tried = rate(kind, name)
    record_property("caught", f"{caught}/{tried}")
    print(f"{kind} {name}: {caught} of {tried}")
    assert tried >= 30
    floor = FLOORS[kind][name]
    assert caught >= floor * tried if floor else caught == 0


def rate(kind: str, name: str) -> tuple[int, int]:
    """How many spoilt answers were noticed, of how many."""
    spoil, rng = getattr(mutations, name), random.Random(f"{kind} {name}")
    caught = tried = 0
    for one in fitting(kind):
        line = spoil(one.line, rng) if tried < SAMPLE else None
        if line is not None and line != one.line:
            tried += 1
            caught += judges(one)[kind](read(line, one.path, one.body)) is not None
    return caught, tried
