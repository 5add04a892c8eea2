"""Ways in which servers spoil good answers, worked into recorded ones; None where an answer has nothing to spoil."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.transcripts.corpus import Line

LONG = 160
"""Tokens of an answer that never ends: what the probe's own question may take."""
SOUP = (
    "the", "ไม่ร่วม", "конкрет", "회의", "ולאכלס", "лись", "ลงทุน", "ولات", "بہتر", "यीप", "Ödeme",
    "ますが", "निर्माण", "строи", "ตาราง", "words", "ლები", "ვის", "ဘာသာ", "አማር", "ਪੰਜ",
)  # fmt: skip


def text(line: Line, letter: str = "c") -> str:
    """The words (``c``) or thoughts (``r``) of an answer."""
    return "".join(part for kind, parts in line["pieces"] if kind == letter for part in parts)


def saying(line: Line, content: str | None, **more: Any) -> Line:
    """The same answer with other words."""
    pieces = [one for one in line["pieces"] if one[0] != "c"]
    kept = copy.deepcopy(line) | more
    return kept | {"pieces": [*pieces, ["c", [content]]] if content is not None else pieces}


def flood(line: Line, rng: random.Random) -> Line:
    """One mark to the end, from somewhere on."""
    content = text(line)
    return saying(line, content[: rng.randint(0, len(content))] + "!" * LONG, finish="length", tokens=LONG)


def stuck(line: Line, rng: random.Random) -> Line | None:
    """One to four of its own words over and over, from somewhere on."""
    words = text(line).split(" ")
    if len(words) < 6:
        return None
    size, start = rng.randint(1, 4), rng.randint(1, len(words) - 5)
    unit = " ".join(words[start : start + size]) + " "
    begun = " ".join(words[: start + size]) + " "
    return saying(line, begun + unit * (LONG // (2 * size)), finish="length", tokens=LONG)


def round_again(line: Line, _: random.Random) -> Line | None:
    """The whole answer over and over; one that is longer than what is looked for goes unnoticed."""
    content = text(line)
    return saying(line, f"{content}\n" * 8, finish="length", tokens=400) if len(content) > 8 else None


def emptied(line: Line, _: random.Random) -> Line:
    """200 and nothing."""
    return {"finish": "stop", "prompt": line["prompt"], "tokens": 0, "pieces": []}


def swallowed(line: Line, _: random.Random) -> Line:
    """Tokens were counted and nothing came."""
    return {"finish": line["finish"], "prompt": line["prompt"], "tokens": line["tokens"], "pieces": []}


def replaced(line: Line, rng: random.Random) -> Line | None:
    """One character in eight is no character."""
    content = text(line)
    return (
        saying(line, "".join("\ufffd" if rng.random() < 0.125 else one for one in content))
        if len(content) > 40
        else None
    )


def soup(line: Line, rng: random.Random) -> Line:
    """Tokens of a large vocabulary, drawn at random."""
    return saying(
        line, "".join(rng.choice(["", " "]) + rng.choice(SOUP) for _ in range(60)), finish="length", tokens=60
    )


def shuffled(line: Line, rng: random.Random) -> Line | None:
    """Its own words in any order: nothing shows it but the recorded answer, which the golden probe has."""
    words = text(line).split(" ")
    return saying(line, " ".join(rng.sample(words, len(words)))) if len(words) > 5 else None


def not_a_number(line: Line, rng: random.Random) -> Line | None:
    """One logprob is NaN."""
    told = [list(one) for one in line.get("logprobs", ())]
    if told:
        told[rng.randrange(len(told))][1] = float("nan")
    return {**line, "logprobs": told} if told else None


def clipped(line: Line, rng: random.Random) -> Line | None:
    """The end of the words is lost."""
    content = text(line)
    return saying(line, content[: -rng.randint(1, len(content) // 2 + 1)]) if len(content) > 1 else None


def beheaded(line: Line, _: random.Random) -> Line | None:
    """The first chunk of the words is lost."""
    content = text(line)
    return saying(line, content[max(1, len(content) // 8) :]) if len(content) > 1 else None


def hole(line: Line, rng: random.Random) -> Line | None:
    """One character within is lost."""
    content, at = text(line), 0
    if len(content) > 2:
        at = rng.randrange(len(content))
    return saying(line, content[:at] + content[at + 1 :]) if len(content) > 2 else None


def stutter(line: Line, rng: random.Random) -> Line | None:
    """One chunk comes twice."""
    content = text(line)
    if len(content) < 4:
        return None
    at, size = rng.randrange(len(content) - 3), rng.randint(2, 4)
    return saying(line, content[: at + size] + content[at:])


def prefaced(line: Line, _: random.Random) -> Line | None:
    """A word before the answer."""
    return saying(line, "Sure: " + text(line)) if text(line) else None


def call_dropped(line: Line, rng: random.Random) -> Line | None:
    """A call is lost."""
    kept = list(line.get("calls", ()))
    if kept:
        kept.pop(rng.randrange(len(kept)))
    return {**line, "calls": kept} if line.get("calls") else None


def call_doubled(line: Line, _: random.Random) -> Line | None:
    """A call comes twice."""
    return {**line, "calls": [*line["calls"], line["calls"][-1]]} if line.get("calls") else None


def _arguments(line: Line, change: Callable[[dict[str, Any]], str]) -> Line | None:
    if not line.get("calls"):
        return None
    name, parts = line["calls"][0]
    if not "".join(parts).endswith("}"):
        return None
    return {**line, "calls": [[name, [change(json.loads("".join(parts)))]], *line["calls"][1:]]}


def arguments_swapped(line: Line, _: random.Random) -> Line | None:
    """Two values change places."""
    return _arguments(line, lambda told: json.dumps(dict(zip(told, reversed(list(told.values())), strict=True))))


def arguments_as_text(line: Line, _: random.Random) -> Line | None:
    """Numbers come in quotation marks."""
    return _arguments(line, lambda told: json.dumps({name: str(value) for name, value in told.items()}))


def arguments_cut(line: Line, rng: random.Random) -> Line | None:
    """The end of the arguments is lost."""
    return _arguments(line, lambda told: json.dumps(told)[: -rng.randint(1, 6)])


def argument_missing(line: Line, _: random.Random) -> Line | None:
    """One argument is lost."""
    return _arguments(line, lambda told: json.dumps(dict(list(told.items())[:-1])))


def call_renamed(line: Line, _: random.Random) -> Line | None:
    """The name comes twice in a row."""
    return {**line, "calls": [[name * 2, parts] for name, parts in line["calls"]]} if line.get("calls") else None


def calls_reordered(line: Line, _: random.Random) -> Line | None:
    """Calls change places."""
    told = line.get("calls", ())
    return {**line, "calls": told[::-1]} if len(told) > 1 else None


def call_as_text(line: Line, _: random.Random) -> Line | None:
    """The parser lets the call through."""
    if not line.get("calls"):
        return None
    told = "".join(
        f'<tool_call>\n{{"name": "{name}", "arguments": {"".join(parts)}}}\n</tool_call>'
        for name, parts in line["calls"]
    )
    return saying(line, told, calls=[], finish="stop")


def tag_left(line: Line, _: random.Random) -> Line | None:
    """A tag stays in the words."""
    return saying(line, text(line) + "</tool_call>") if line.get("calls") else None


def wrong_finish(line: Line, _: random.Random) -> Line | None:
    """The finish reason is another one."""
    other = {"tool_calls": "stop", "stop": "tool_calls"}.get(line["finish"])
    return {**line, "finish": other} if other else None


def mark_left(line: Line, _: random.Random) -> Line | None:
    """The end of the block of thoughts stays before the words."""
    return saying(line, "</think>" + text(line)) if text(line) else None


def unclosed(line: Line, _: random.Random) -> Line | None:
    """All of it comes as thoughts."""
    if not text(line):
        return None
    return saying({**line, "pieces": [["r", [text(line, "r") + text(line)]]]}, None)


def thoughts_as_words(line: Line, _: random.Random) -> Line | None:
    """Thoughts come as words, with their marks eaten."""
    told = text(line, "r")
    return saying({**line, "pieces": []}, told + text(line)) if told else None


def thoughts_lost(line: Line, _: random.Random) -> Line | None:
    """Thoughts never come."""
    return {**line, "pieces": [one for one in line["pieces"] if one[0] == "c"]} if text(line, "r") else None
