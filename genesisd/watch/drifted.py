"""A hunk that has no place in a text, laid beside an anchor that has one: do they share lines, and what becomes of those.

The hunk shows upstream's text at its own base, the anchor ours; lines drift around both. They are slid along each
other, and only a position counts in which every line that they overlap by is equal to the letter, and in which enough
of them say something: a lone ``return`` or bracket is equal to too much. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.watch.diffs import Hunk

_SAYS = 12
"""Characters, without white space, from which a line alone may say where it is, if it is the only one of the file."""


class Alignment(StrEnum):
    """What a hunk does to the lines that it shares with an anchor."""

    REWRITTEN = "rewritten"
    SPLIT = "split"
    """Others come between them."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A hunk beside an anchor; ``breaks`` unless the anchor is whole again in what the hunk puts."""

    hunk: Hunk
    alignment: Alignment
    breaks: bool


def laid_beside(lines: Sequence[str], anchor: tuple[int, int], hunks: Sequence[Hunk]) -> Laid | None:
    """The first of ``hunks`` that changes lines of the anchor, which is ``lines[first]`` to ``lines[last]``."""
    wanted = list(lines[anchor[0] : anchor[1] + 1])
    often = Counter(lines)
    for hunk in hunks:
        for shift in range(1 - len(wanted), len(hunk.old)):
            if _agree(wanted, hunk.old, shift, often) and (found := _change(wanted, hunk, shift)):
                return Laid(hunk, found, "".join(wanted) not in "".join(hunk.new))
    return None


def _agree(wanted: Sequence[str], old: Sequence[str], shift: int, often: Counter[str]) -> bool:
    """Whether ``wanted``, laid with its first line at line ``shift`` of ``old``, is equal wherever both have a line."""
    shared = [line for index, line in enumerate(wanted) if 0 <= shift + index < len(old)]
    if any(old[shift + index] != line for index, line in enumerate(wanted) if 0 <= shift + index < len(old)):
        return False
    inked = [line for line in shared if line.strip()]
    alone = [line for line in inked if often[line] == 1 and len("".join(line.split())) >= _SAYS]
    return bool(alone) or (len(shared) == len(wanted) and len(inked) > 1)


def _change(wanted: Sequence[str], hunk: Hunk, shift: int) -> Alignment | None:
    first, last = shift, shift + len(wanted) - 1
    at, split = 0, False
    for sign, _ in hunk.lines:
        if sign == "-" and first <= at <= last:
            return Alignment.REWRITTEN
        split = split or (sign == "+" and first < at <= last)
        at += sign != "+"
    return Alignment.SPLIT if split else None
