"""Where a change's lines stand in a file: as they were before it, as they are after it, or neither. Pure.

A hunk is looked for whole, then step by step (a step is one run of changed lines), then with less of what surrounds
it, and at last by its words alone. What is found must lie where the diff's heading says and be found once: the
danger is not the line that is missing, but the twin that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from genesisd.watch.diffs import Hunk
from genesisd.watch.text import Fit, Heading, Text, bare, defined, is_idle, module_names, telling, words

_IMPORT = re.compile(r"\s*(from\s+[\w.]+\s+import\b.*|import\s+[\w.]+.*|\w+(\s+as\s+\w+)?,|[()])")
_WIDTHS = (3, 2, 1, 0)
NOTHING: frozenset[str] = frozenset()


class Side(StrEnum):
    """In which state a place is."""

    AFTER = "after"
    """As the change leaves it."""
    BEFORE = "before"
    """As the change found it."""
    NEITHER = "neither"
    """It was rewritten since, or is not there yet."""
    IDLE = "idle"
    """The change brings no code there: comments, docstrings, blank lines, layout."""


@dataclass(frozen=True, slots=True)
class Step:
    """One run of changed lines, with up to three lines around it. ``over`` is what stands over it on each side."""

    above: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    below: tuple[str, ...]
    over_old: Heading
    over_new: Heading

    @property
    def minor(self) -> bool:
        """It changes imports alone: what uses them decides, and everybody's changes meet in them."""
        changed = [line for line in (*self.old, *self.new) if not is_idle(line)]
        near = (*self.above, *self.old, *self.new)
        return all(map(_IMPORT.fullmatch, changed)) and any("import" in line for line in near)

    def nested(self, *, exact: bool) -> bool:
        """One side is part of the other (a line was put below a condition): alone it proves nothing."""
        old, new = (self.old, self.new) if exact else (words(self.old), words(self.new))
        return _times(old, new) > 0 or _times(new, old) > 0

    @property
    def idle(self) -> bool:
        """It changes no word of code."""
        return words(self.old) == words(self.new)


@dataclass(frozen=True, slots=True)
class Seen:
    """What was found of one step.

    Attributes:
        side: the state of the place.
        line: where, from 1; 0 if nowhere.
        scope: the definition around it.
        exact: found line by line; else by its words alone.
        minor: it may support a verdict, and makes none.
        twin: what was found lies in another scope than the diff says, or in several.
        brings: names that it defines for the whole module, where the place is as before.
    """

    side: Side
    line: int = 0
    scope: str = ""
    exact: bool = True
    minor: bool = False
    twin: bool = False
    brings: tuple[str, ...] = ()


def look(text: Text, hunk: Hunk, brought: frozenset[str] = NOTHING, *, by_words: bool = False) -> tuple[Seen, ...]:
    """What the file has of the hunk, one each step.

    Args:
        text: the file.
        hunk: the place.
        brought: names that earlier hunks of the file define. A diff's headings are of the file before the change.
        by_words: words alone decide where lines do not.
    """
    steps = tuple(_steps(hunk, brought))
    whole = _whole(text, hunk, steps, brought)
    if whole is not None:
        return whole
    return tuple(_step(text, step, by_words=by_words) for step in steps)


def _whole(text: Text, hunk: Hunk, steps: Sequence[Step], brought: frozenset[str]) -> tuple[Seen, ...] | None:
    old, new = bare(hunk.old), bare(hunk.new)
    at_old, at_new = _apart(old, text.find(old), new, text.find(new))
    over_old, over_new = Heading(hunk.heading), Heading(hunk.heading, brought)
    here_old, here_new = _fitting(text, at_old, over_old), _fitting(text, at_new, over_new)
    if bool(here_old) == bool(here_new):
        return None
    side, at, block, over = (
        (Side.AFTER, here_new, new, over_new) if here_new else (Side.BEFORE, here_old, old, over_old)
    )
    if not telling(block) or (len(at) > 1 and text.fit(at[0], over) is not Fit.YES):
        return None
    return tuple(
        _placed(text, step, side, at[0] + offset) for step, offset in zip(steps, _offsets(hunk, side), strict=True)
    )


def _placed(text: Text, step: Step, side: Side, first: int, *, exact: bool = True) -> Seen:
    changed = step.new if side is Side.AFTER else step.old
    prose = exact and bool(changed) and text.is_prose(first, first + len(changed)) and _is_prose_too(step, side)
    brings = tuple(module_names(step.new)) if side is Side.BEFORE else ()
    side = Side.IDLE if step.idle or prose else side
    return Seen(side, first + 1, text.scope(first), exact, step.minor, brings=brings)


def _is_prose_too(step: Step, side: Side) -> bool:
    """Whether the side that is not in the file holds no code either: what a docstring took the place of is prose."""
    other = step.old if side is Side.AFTER else step.new
    return all(is_idle(line) for line in other) or bool(step.old and step.new)


def _step(text: Text, step: Step, *, by_words: bool) -> Seen:
    if step.idle:
        return Seen(Side.IDLE)
    seen = _narrowing(text, step, exact=True)
    if seen.side is Side.NEITHER and by_words and not seen.twin:
        return _narrowing(text, step, exact=False)
    return seen


def _narrowing(text: Text, step: Step, *, exact: bool) -> Seen:
    """The step with ever less around it, until one side is found at one fitting place."""
    twin, nested = False, step.nested(exact=exact)
    for width in _WIDTHS:
        above, below = step.above[max(0, len(step.above) - width) :], step.below[:width]
        old, new = (*above, *step.old, *below), (*above, *step.new, *below)
        if _alike(old, new):
            return Seen(Side.NEITHER, minor=step.minor, twin=True)
        if not width and not (step.old and step.new):
            break  # what is only added, or only removed, may as well be its twin
        # A side without lines of its own is known by its neighbours alone: both must tell something.
        framed = telling(above) > 0 and telling(below) > 0
        sides = (old if framed or (step.old and not nested) else (), new if framed or (step.new and not nested) else ())
        at_old, at_new = _sought(text, *sides, exact=exact)
        here_old = _fitting(text, at_old, step.over_old)
        here_new = _fitting(text, at_new, step.over_new)
        twin = twin or (len(here_old), len(here_new)) != (len(at_old), len(at_new))
        if here_old and here_new:
            return Seen(Side.NEITHER, minor=step.minor, twin=True)
        offset = len(above) if exact else 0
        if len(here_new) == 1 and _proves(text, new, here_new[0], step.over_new, alone=not width):
            return _placed(text, step, Side.AFTER, here_new[0] + offset, exact=exact)
        if (
            len(here_old) == 1
            and _proves(text, old, here_old[0], step.over_old, alone=not width)
            and not _landed(text, step)
        ):
            return _placed(text, step, Side.BEFORE, here_old[0] + offset, exact=exact)
    return Seen(Side.NEITHER, minor=step.minor, twin=twin)


def _sought(text: Text, old: Sequence[str], new: Sequence[str], *, exact: bool) -> tuple[tuple[int, ...], ...]:
    """Lines at which each side is found."""
    if exact:
        return _apart(old, text.find(old), new, text.find(new))
    before, after = words(old), words(new)
    found = _apart(before, text.find_laid(old), after, text.find_laid(new))
    return tuple(tuple(map(text.line_of, places)) for places in found)


def _proves(text: Text, block: Sequence[str], at: int, heading: Heading, *, alone: bool) -> bool:
    """Whether finding these lines says anything: two telling ones do, or one under the right heading.

    Without anything around them (``alone``) all must lie under it.
    """
    told = telling(block)
    return told > 0 and ((told >= 2 and not alone) or text.fit(at, heading) is Fit.YES)


def _landed(text: Text, step: Step) -> bool:
    """Whether all that it adds stands at another place of the file: then the place before it proves nothing."""
    return telling(step.new) >= 2 and bool(text.find(step.new))


def _apart(
    old: Sequence[str], at_old: tuple[int, ...], new: Sequence[str], at_new: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Without places of the shorter side that are part of the longer one: at the end of a file one begins the other."""
    if _alike(old, new):
        return (), ()
    if len(old) < len(new):
        return tuple(at for at in at_old if not _within(at, len(old), at_new, len(new))), at_new
    return at_old, tuple(at for at in at_new if not _within(at, len(new), at_old, len(old)))


def _alike(old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether one side has the other twice: where a line was put among its likes, nothing can be told."""
    return _times(old, new) > 1 or _times(new, old) > 1


def _times(shorter: Sequence[str], longer: Sequence[str]) -> int:
    if not shorter:
        return 0
    size = len(shorter)
    return sum(longer[at : at + size] == shorter for at in range(len(longer) - size + 1))


def _within(at: int, length: int, longer: Sequence[int], its_length: int) -> bool:
    return any(start <= at and at + length <= start + its_length for start in longer)


def _fitting(text: Text, places: Sequence[int], heading: Heading) -> tuple[int, ...]:
    """Those that lie under the heading; those of which it cannot be told only where none does."""
    fits = [(at, text.fit(at, heading)) for at in places]
    surely = tuple(at for at, fit in fits if fit is Fit.YES)
    return surely or tuple(at for at, fit in fits if fit is Fit.UNTOLD)


def _steps(hunk: Hunk, brought: frozenset[str]) -> Iterator[Step]:
    lines = [(sign, text.rstrip("\r\n")) for sign, text in hunk.lines]
    for first, last in _runs([sign for sign, _ in lines]):
        run = lines[first:last]
        above = [text for _, text in lines[_context(lines, first) : first]][-3:]
        below = [text for _, text in lines[last : _context_end(lines, last)]][:3]
        yield Step(
            tuple(above),
            tuple(text for sign, text in run if sign == "-"),
            tuple(text for sign, text in run if sign == "+"),
            tuple(below),
            _heading(lines[:first], "-", Heading(hunk.heading)),
            _heading(lines[:first], "+", Heading(hunk.heading, brought)),
        )


def _runs(signs: Sequence[str]) -> Iterator[tuple[int, int]]:
    start: int | None = None
    for number, sign in enumerate((*signs, " ")):
        if sign != " " and start is None:
            start = number
        elif sign == " " and start is not None:
            yield start, number
            start = None


def _context(lines: Sequence[tuple[str, str]], first: int) -> int:
    while first > 0 and lines[first - 1][0] == " ":
        first -= 1
    return first


def _context_end(lines: Sequence[tuple[str, str]], last: int) -> int:
    while last < len(lines) and lines[last][0] == " ":
        last += 1
    return last


def _heading(before: Sequence[tuple[str, str]], side: str, over: Heading) -> Heading:
    """The last definition that begins within the hunk, over the step; else what stands over the hunk."""
    own = next((text for sign, text in reversed(before) if sign in {" ", side} and defined(text)), None)
    return over if own is None else Heading(own.strip())


def _offsets(hunk: Hunk, side: Side) -> Iterator[int]:
    """How many lines of that side each step begins behind the first."""
    kept = "+" if side is Side.AFTER else "-"
    signs = [sign for sign, _ in hunk.lines]
    for first, _ in _runs(signs):
        yield sum(1 for sign in signs[:first] if sign in {" ", kept})
