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

_SAYS = 8
"""Characters, without white space, from which text that the file has but once says where it is."""
_DEFINES = re.compile(r"^[ \t]*(?:class|def|async[ \t]+def)[ \t]", re.MULTILINE)


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
    scope: str,
    lines: Sequence[str],
    home: tuple[int, int],
    forms: Sequence[str],
    taken: Iterable[Hunk],
    every: Iterable[Hunk],
) -> Hunk | None:
    """The hunk of ``taken`` that removes the head of a class or function of ``scope``, which is ``lines`` of ``home``.

    None where it puts that head again (it has other arguments now), or where another one of ``every`` does, with one of
    ``forms`` behind it (the place has but moved). A head that the file has more than once is told by the lines around.
    """
    text, puts = "".join(lines), [_put(hunk) for hunk in every]
    heads = [_head(name) for name in scope.split(".") if name not in {"", "<locals>"}]
    gone = [head for head in heads if not any(head.search(put) and any(form in put for form in forms) for put in puts)]
    alone = [head for head in gone if len(head.findall(text)) == 1]
    for hunk in taken:
        if any(_loses(head, hunk) for head in alone):
            return hunk
        if gone and gone[-1] is heads[-1] and _loses(heads[-1], hunk) and _is_of(heads[-1], lines, home, hunk):
            return hunk
    return None


def twin_put(scope: str, forms: Sequence[str], hunks: Sequence[Hunk]) -> Hunk | None:
    """The hunk that brings one of ``forms`` once more, in another definition of the scope's name; else None.

    For an anchor of the file itself: outside of any definition that the hunk brings.
    """
    brought = [hunk for hunk in hunks if any(form in _put(hunk) for form in forms)]
    more = sum("".join(hunk.new).count(form) - "".join(hunk.old).count(form) for hunk in hunks for form in forms)
    if more <= 0:
        return None
    if not scope:
        return next((hunk for hunk in brought if not _DEFINES.search(_put(hunk))), None)
    head = _head(scope.rpartition(".")[2])
    return next((hunk for hunk in brought if head.search(_put(hunk)) and not _loses(head, hunk)), None)


def owed(forms: Sequence[str], hunks: Iterable[Hunk]) -> int:
    """How many of the ``hunks``, had they been made, would have taken one of ``forms`` away."""
    return sum(any(form in "".join(hunk.old) and form not in "".join(hunk.new) for form in forms) for hunk in hunks)


def _head(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:class|def|async[ \t]+def)[ \t]+{re.escape(name)}\b", re.MULTILINE)


def _is_of(head: re.Pattern[str], lines: Sequence[str], home: tuple[int, int], hunk: Hunk) -> bool:
    """Whether the head in the hunk is that of ``home``, by the equal lines around both."""
    at = next((index for index in range(home[0], home[1] + 1) if head.match(lines[index])), home[0])
    runs = [_shared(lines, (at, at), hunk.old, index) for index, line in enumerate(hunk.old) if line == lines[at]]
    text = "".join(lines)
    return any(text.count(run) == 1 for run in runs)


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
