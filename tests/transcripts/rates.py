"""How often spoilt answers are noticed: ``python -m tests.transcripts.rates`` prints the table."""

from __future__ import annotations

import random
from functools import cache
from typing import TYPE_CHECKING

from genesisd.probes.judging.degeneration import grammar
from tests.transcripts import mutations
from tests.transcripts.corpus import Transcript, read, transcripts
from tests.transcripts.judged import judges

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLE = 500
"""Answers that each mutation is tried on."""
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


@cache
def fitting(kind: str) -> list[Transcript]:
    """In an order of its own, the same each time. Under a grammar repetitions are not looked for."""
    free = kind == "degeneration"
    found = [one for one in transcripts() if kind in judges(one) and not (free and grammar(one.body))]
    random.Random(f"transcripts for {kind}").shuffle(found)
    return found


def faults(one: Transcript) -> Iterator[tuple[str, str]]:
    """Each judge that finds something in a recorded answer, and what."""
    said = one.said()
    for name, judge in judges(one).items():
        if fault := judge(said):
            yield name, fault


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


def main() -> None:
    """Kind by kind, mutation by mutation."""
    good = [one for one in transcripts() if one.path == "/v1/chat/completions"]
    print(f"{len(good)} good answers, {sum(1 for one in good for _ in faults(one))} false alarms\n")
    print("| Kind | Spoilt answer | Noticed |")
    print("|---|---|---|")
    for kind, floors in FLOORS.items():
        for name in floors:
            caught, tried = rate(kind, name)
            what = (getattr(mutations, name).__doc__ or "").split("\n")[0].rstrip(".")
            print(f"| `{kind}` | {what} | {caught} of {tried} |")


if __name__ == "__main__":
    main()
