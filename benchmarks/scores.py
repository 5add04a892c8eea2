"""Right and wrong predictions, and the peer that looks whether lines overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from genesisd.watch.diffs import FileChange, Hunk

Lines = tuple[int, int]


@dataclass(slots=True)
class Score:
    """Predictions against what happened."""

    found: int = 0
    missed: int = 0
    false: int = 0
    quiet: int = 0
    misses: list[str] = field(default_factory=list)
    alarms: list[str] = field(default_factory=list)

    def add(self, told: bool, true: bool, what: str = "") -> None:
        """One more case."""
        self.found += told and true
        self.missed += true and not told
        self.false += told and not true
        self.quiet += not told and not true
        if true and not told:
            self.misses.append(what)
        if told and not true:
            self.alarms.append(what)

    @property
    def cases(self) -> int:
        """All."""
        return self.found + self.missed + self.false + self.quiet

    def share(self, of: int) -> str:
        """Found of so many, in percent."""
        return f"{100 * self.found / of:.1f} %" if of else "-"

    def row(self) -> tuple[str, ...]:
        """Cells of a table: precision, recall, and the counts."""
        precision, recall = self.share(self.found + self.false), self.share(self.found + self.missed)
        return precision, recall, str(self.found), str(self.missed), str(self.false), str(self.quiet)


def overlaps(change: FileChange, path: str, anchor: Lines, *, context: bool) -> bool:
    """Whether lines that the diff takes away (or, with ``context``, all that it shows) are lines of the anchor.

    By number, as the diff gives them: what a tool says that compares ranges of changed lines. A pure insertion has
    the line before it and the one after it.
    """
    if change.before != path:
        return False
    return any(start <= anchor[1] and end >= anchor[0] for hunk in change.hunks for start, end in _spans(hunk, context))


def _spans(hunk: Hunk, context: bool) -> Sequence[Lines]:
    first = hunk.old_start - 1
    if context:
        return [(first, first + max(len(hunk.old) - 1, 0))]
    at, found = first, []
    for sign, _ in hunk.lines:
        if sign == "-":
            found.append((at, at))
        at += sign != "+"
    return found
