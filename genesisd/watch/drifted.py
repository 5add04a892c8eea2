"""A hunk that has no place in a text, laid beside an anchor that has one: do they share lines, and what becomes of those.

The hunk shows upstream's text at its own base, the anchor stands in ours; lines drift around both. They are slid along
each other, and only a position counts in which every line of the anchor that both have is equal to the letter, and in
which these and the equal lines around them stand in the file but once: a lone ``return`` is equal to too much. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from genesisd.watch.diffs import Hunk
from genesisd.watch.model import Place

_SAYS = 12
"""Characters, without white space, from which text that the file has but once says where it is."""


@dataclass(frozen=True, slots=True)
class Laid:
    """A hunk that would break an anchor, and how."""

    hunk: Hunk
    place: Place


def laid_beside(
    lines: Sequence[str], anchor: tuple[int, int], forms: Sequence[str], hunks: Sequence[Hunk]
) -> Laid | None:
    """The first of ``hunks`` that ends the anchor, which is ``lines[first]`` to ``lines[last]``, or None.

    Args:
        lines: of the pin's file.
        anchor: ``first`` and ``last``.
        forms: every text that the edit looks for; one that stands in what a hunk puts has not ended.
        hunks: those that found no place.
    """
    text = "".join(lines)
    for hunk in hunks:
        old, new = "".join(hunk.old), "".join(hunk.new)
        if any(form in new for form in forms):
            continue
        if found := next(_changes(lines, anchor, hunk, text), None):
            return Laid(hunk, found)
        if any(form in old and _says(form) and text.count(form) <= 1 for form in forms):
            return Laid(hunk, Place.OVER)
    return None


def scope_taken(
    scope: str, text: str, forms: Sequence[str], taken: Iterable[Hunk], every: Iterable[Hunk]
) -> Hunk | None:
    """The hunk of ``taken`` that removes the head of a class or function of ``scope``.

    None where it puts that head again (it has other arguments now), or where another one of ``every`` does, with one of
    ``forms`` behind it (the place has but moved). A head that the file has more than once tells nothing.
    """
    heads = [_head(name) for name in scope.split(".") if name not in {"", "<locals>"}]
    alone = [head for head in heads if len(head.findall(text)) == 1]
    puts = [_put(hunk) for hunk in every]
    gone = [head for head in alone if not any(head.search(put) and any(form in put for form in forms) for put in puts)]
    return next((hunk for hunk in taken if any(_loses(head, hunk) for head in gone)), None)


def owed(forms: Sequence[str], hunks: Iterable[Hunk]) -> int:
    """How many of the ``hunks``, had they been made, would have taken one of ``forms`` away."""
    return sum(any(form in "".join(hunk.old) and form not in "".join(hunk.new) for form in forms) for hunk in hunks)


def _head(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:class|def|async[ \t]+def)[ \t]+{re.escape(name)}\b", re.MULTILINE)


def _loses(head: re.Pattern[str], hunk: Hunk) -> bool:
    return bool(head.search("".join(line for sign, line in hunk.lines if sign == "-")) and not head.search(_put(hunk)))


def _put(hunk: Hunk) -> str:
    return "".join(line for sign, line in hunk.lines if sign == "+")


def _says(text: str) -> bool:
    return len("".join(text.split())) >= _SAYS


def _changes(lines: Sequence[str], anchor: tuple[int, int], hunk: Hunk, text: str) -> Iterator[Place]:
    first, last = anchor
    for shift in range(first - last, len(hunk.old)):
        run = _shared(lines, anchor, hunk.old, shift)
        if _says(run) and text.count(run) == 1 and (found := _change(last - first + 1, hunk, shift)):
            yield found


def _shared(lines: Sequence[str], anchor: tuple[int, int], old: Sequence[str], shift: int) -> str:
    """The equal lines in and around the anchor, laid with its first at line ``shift`` of ``old``.

    "" unless all that both have of the anchor is equal. The lines around only help to tell where it is.
    """
    by = anchor[0] - shift
    start, end = max(shift, 0), min(shift + anchor[1] - anchor[0] + 1, len(old))
    if any(old[at] != lines[at + by] for at in range(start, end)):
        return ""
    while start > 0 and start + by > 0 and old[start - 1] == lines[start - 1 + by]:
        start -= 1
    while end < min(len(old), len(lines) - by) and old[end] == lines[end + by]:
        end += 1
    return "".join(old[start:end])


def _change(length: int, hunk: Hunk, shift: int) -> Place | None:
    first, last = shift, shift + length - 1
    at, split = 0, False
    for sign, _ in hunk.lines:
        if sign == "-" and first <= at <= last:
            return Place.OVER
        split = split or (sign == "+" and first < at <= last)
        at += sign != "+"
    return Place.INSIDE if split else None
