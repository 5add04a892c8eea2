"""How far the changes of a repository were read: what one sweep leaves for the next. Pure.

The list of changes is read from the newest on. A sweep that could not read on to where the last one began leaves a
gap, which the next ones fill, so that a busy day is only told late.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

from genesisd.watch.model import Pull


@dataclass(frozen=True, slots=True)
class Gap:
    """Changes before ``before`` were not read, back to ``until``, and of that very second the pull requests ``seen``.

    ``after`` tells where in the list the gap begins, in the words of the interface that was read.
    """

    before: float
    until: float
    seen: tuple[int, ...] = ()
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Mark:
    """Everything up to ``since`` was read, and of that very second the pull requests ``seen``; but for ``gap``."""

    since: float
    seen: tuple[int, ...] = ()
    gap: Gap | None = None


def written(mark: Mark) -> str:
    """As the port passes it."""
    return json.dumps(asdict(mark), separators=(",", ":"))


def parsed(text: str | None) -> Mark | None:
    """The mark, or None for none and for one that cannot be read: then the newest page is told again."""
    try:
        told: Any = json.loads(text or "")
        gap = told["gap"]
        left = gap and Gap(float(gap["before"]), float(gap["until"]), _numbers(gap["seen"]), gap["after"])
        return Mark(float(told["since"]), _numbers(told["seen"]), left)
    except (ValueError, TypeError, KeyError):
        return None


def _numbers(told: Any) -> tuple[int, ...]:
    return tuple(int(number) for number in told)


class Step(Enum):
    """What to do with an entry of the list."""

    TAKE = "take"
    PASS = "pass"  # noqa: S105 - to pass over
    """It was told before; a gap begins further on."""
    END = "end"


class Walk:
    """One reading of the list, from its newest entry on. Feed it each entry in order.

    Args:
        mark: what the last reading left.
        most: entries to take.
    """

    def __init__(self, mark: Mark | None, most: int) -> None:
        self._mark = mark
        self._most = most
        self._first: Mark | None = None
        self._last: tuple[float, str] | None = None
        self._taken: set[int] = set()
        self._in_gap = self._jumped = False
        self.pulls: list[Pull] = []
        self.ended = False

    def step(self, pull: Pull, cursor: str) -> Step:
        """Take note of the next entry. After END nothing more is wanted."""
        at = pull.updated_at or 0.0
        place = self._place(at, pull.ref.number)
        if place is Step.END:
            self.ended = True
        if place is Step.PASS and self._jumped:
            self._move_gap(cursor)
        if place is not Step.TAKE:
            return place
        if len(self.pulls) >= self._most:
            return Step.END
        if not self._in_gap:
            self._head(at, pull.ref.number)
        if pull.ref.number not in self._taken:  # an entry that changes while pages are turned is met again
            self._taken.add(pull.ref.number)
            self.pulls.append(pull)
        self._last = (at, cursor)
        return Step.TAKE

    @property
    def can_jump(self) -> bool:
        """The newest part was read, nothing of the gap was, and where it begins is known."""
        known = bool(self._mark and self._mark.gap and self._mark.gap.after)
        return known and self._in_gap and self._last is None and not self._jumped

    def jump(self) -> str | None:
        """Where the gap begins, told once."""
        self._jumped = True
        return self._mark.gap.after if self._mark and self._mark.gap else None

    def lose_cursor(self) -> None:
        """Upstream no longer knows where the gap begins: the next reading pages up to it."""
        self._move_gap(None)

    def finish(self) -> None:
        """The list has no more entries."""
        self.ended = True

    def mark(self) -> Mark | None:
        """What this reading leaves; None where there was never anything."""
        old = self._mark
        head = self._first or old
        if head is None:
            return None
        if self.ended or old is None:
            return replace(head, gap=None)
        if self._last is None:
            return replace(head, gap=old.gap)
        until, seen = (old.gap.until, old.gap.seen) if old.gap else (old.since, old.seen)
        return replace(head, gap=Gap(self._last[0], until, seen, self._last[1]))

    def _move_gap(self, after: str | None) -> None:
        if self._mark and self._mark.gap:
            self._mark = replace(self._mark, gap=replace(self._mark.gap, after=after))

    def _place(self, at: float, number: int) -> Step:
        mark = self._mark
        if mark is None or at > mark.since:
            return Step.TAKE
        if at == mark.since:  # others of that second may follow
            return Step.PASS if number in mark.seen else Step.TAKE
        if mark.gap is None or at < mark.gap.until:
            return Step.END
        if not self._in_gap:
            self._in_gap, self._last = True, None
        known = at > mark.gap.before or (at == mark.gap.until and number in mark.gap.seen)
        return Step.PASS if known else Step.TAKE

    def _head(self, at: float, number: int) -> None:
        if self._first is None:
            before = self._mark.seen if self._mark and self._mark.since == at else ()
            self._first = Mark(at, (*before, number))
        elif at == self._first.since:
            self._first = replace(self._first, seen=(*self._first.seen, number))
