"""Where a pull request stands to us: upstream's word and the pins' files, put into one of few situations. Pure.

What the files hold goes before what upstream says wherever they speak of the same thing: a merge is no proof that a
pin has the change, and a change may land under another name.
"""

from __future__ import annotations

from enum import StrEnum

from genesisd.watch.case import Case
from genesisd.watch.held import CURRENT, ahead, having, lost, served
from genesisd.watch.model import Content, Pull, State
from genesisd.watch.rows import WatchRow


class Situation(StrEnum):
    """The columns of the table."""

    UNTOLD = "untold"
    """Upstream never answered about it."""
    ISSUE_OPEN = "issue-open"
    ISSUE_CLOSED = "issue-closed"
    OPEN = "open"
    """And no pin has its content."""
    CLOSED = "closed"
    """Without a merge, and no pin has its content."""
    LANDED = "landed"
    """Not merged, and yet a pin has its content: another change brought it."""
    MERGED = "merged"
    """And the current pin lacks it, as every other that could be read."""
    UNCLEAR = "unclear"
    """Merged, and the files say neither yes nor no."""
    AHEAD = "ahead"
    """Merged, and in a pin that may be run next."""
    IN_CURRENT = "in-current"
    LOST = "lost"
    """Merged, and a pin that had it has it no more."""


def situation(case: Case) -> Situation:
    """The one that ``case`` is in."""
    pull = case.pull
    if pull is None:
        return Situation.UNTOLD
    if pull.is_issue:
        return Situation.ISSUE_OPEN if pull.state is State.OPEN else Situation.ISSUE_CLOSED
    if pull.state is State.MERGED:
        return _merged(case, pull)
    if having(case.pins, Content.PRESENT):
        return Situation.LANDED
    return Situation.OPEN if pull.state is State.OPEN else Situation.CLOSED


def breaks_us(case: Case) -> bool:
    """The row watches what does harm: it names the pull request that mends it."""
    return isinstance(case.row, WatchRow) and case.row.fix_upstream is not None


def _merged(case: Case, pull: Pull) -> Situation:
    if not breaks_us(case) and lost(pull, case.pins):
        return Situation.LOST
    present = having(case.pins, Content.PRESENT)
    if any(CURRENT in pin.slots for pin in present):
        return Situation.IN_CURRENT
    if ahead(present):
        return Situation.AHEAD
    running = served(case.pins)
    absent = bool(running) and all(pin.content.content is Content.ABSENT for pin in running)
    return Situation.MERGED if absent else Situation.UNCLEAR
