"""Whether a text ends in one thing over and over. Pure.

A model that has lost its way says the same thing until it is cut. What people are served repeats too: rules of a table,
rows of zeros, songs, indentation. So a repetition counts only where it runs to the very end of an answer that was cut
by its length; in one that ended by itself it has to be nearly all there is.
"""

from __future__ import annotations

from dataclasses import dataclass

_RULES = frozenset("-=_*#~.+| \t\r\n\u2500\u2501\u2550")
"""What rules, frames, tables of contents and indentation are made of."""


@dataclass(frozen=True, slots=True)
class Limits:
    """When a repetition is too much.

    Attributes:
        unit: longest thing that is looked for, in characters.
        times: how often a unit has to stand there.
        characters: how long the repetition has to be; a long unit needs fewer times, so this bounds it.
        share: of the answer, where it was cut by its length.
        rule: characters of a repetition that is made of what rules are made of.
        whole: share of an answer that ended by itself.
        whole_times: and how often the unit has to stand in that.
    """

    unit: int = 160
    times: int = 6
    characters: int = 48
    share: float = 0.4
    rule: int = 400
    whole: float = 0.95
    whole_times: int = 40


DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Tail:
    """The repetition that a text ends in: ``unit`` stands ``times`` times, over ``length`` characters."""

    unit: str
    times: int
    length: int


def tail(text: str, limit: int = DEFAULT.unit) -> Tail:
    """The longest repetition at the end; the shortest unit of those that are equally long."""
    best = Tail("", 0, 0)
    for size in range(1, min(limit, len(text) // 2) + 1):
        if best.length + size >= len(text):
            break  # nothing longer is left, and a flood of sixteen thousand characters would take a while
        found = _repeated(text, size)
        if found.times > 1 and found.length > best.length + size:
            best = found
    return best


def degenerate(text: str, *, cut: bool, limits: Limits = DEFAULT) -> str | None:
    """What is repeated too often, or None. ``cut``: the answer ended by its length, not by itself."""
    ended = text.rstrip()
    kept = text if cut else ended
    found = tail(kept, limits.unit)
    if not found.times or not (_too_much(found, len(kept), limits) if cut else _nothing_else(found, len(kept), limits)):
        return None
    shown = found.unit if len(found.unit) <= 40 else f"{found.unit[:40]}..."
    return f"it ends in {shown!r} {found.times} times over ({found.length} of {len(kept)} characters)"


def _too_much(found: Tail, size: int, limits: Limits) -> bool:
    longest = limits.rule if _RULES.issuperset(found.unit) else limits.characters
    return found.times >= limits.times and found.length >= longest and found.length >= limits.share * size


def _nothing_else(found: Tail, size: int, limits: Limits) -> bool:
    return (
        found.times >= limits.whole_times and found.length >= limits.whole * size and found.length >= limits.characters
    )


def _repeated(text: str, size: int) -> Tail:
    """How far back the last ``size`` characters repeat; a part of one more before them counts as well."""
    unit, end, times = text[-size:], len(text), 0
    while end >= size and text.endswith(unit, 0, end):
        end -= size
        times += 1
    part = 0
    while part < min(size, end) and text[end - part - 1] == unit[-part - 1]:
        part += 1
    return Tail(unit, times, times * size + part)
