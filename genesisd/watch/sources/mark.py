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
    """Changes before ``before`` and not before ``until`` were not read; ``after`` is the cursor where they begin."""

    before: float
    until: float
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
        gap = told["gap"] and Gap(float(told["gap"]["before"]), float(told["gap"]["until"]), told["gap"]["after"])
        return Mark(float(told["since"]), tuple(int(number) for number in told["seen"]), gap)
    except (ValueError, TypeError, KeyError):
        return None


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
        self._in_gap = False
        self.pulls: list[Pull] = []
        self.ended = False

    def step(self, pull: Pull, cursor: str) -> Step:
        """Take note of the next entry. After END nothing more is wanted."""
        at = pull.updated_at or 0.0
        place = self._place(at, pull.ref.number)
        if place is Step.END:
            self.ended = True
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

    def jump(self) -> str | None:
        """The cursor where the gap begins, once the newest part was read and if there is a gap."""
        gap = self._mark.gap if self._mark else None
        return gap.after if gap and self._in_gap else None

    def lose_cursor(self) -> None:
        """Upstream no longer knows where the gap begins: the next reading pages up to it."""
        if self._mark and self._mark.gap:
            self._mark = replace(self._mark, gap=replace(self._mark.gap, after=None))

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
        until = old.gap.until if old.gap else old.since
        if self._last is None:
            return replace(head, gap=old.gap)
        return replace(head, gap=Gap(self._last[0], until, self._last[1]))

    def _place(self, at: float, number: int) -> Step:
        mark = self._mark
        if mark is None or at > mark.since or (at == mark.since and number not in mark.seen):
            return Step.TAKE
        if mark.gap is None:
            return Step.END
        if not self._in_gap:
            self._in_gap, self._last = True, None
        if at > mark.gap.before:
            return Step.PASS
        return Step.TAKE if at >= mark.gap.until else Step.END

    def _head(self, at: float, number: int) -> None:
        if self._first is None:
            before = self._mark.seen if self._mark and self._mark.since == at else ()
            self._first = Mark(at, (*before, number))
        elif at == self._first.since:
            self._first = replace(self._first, seen=(*self._first.seen, number))
