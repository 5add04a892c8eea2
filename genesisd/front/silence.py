"""When a front that does not answer counts as wedged. Pure.

Ending one cuts every stream that runs through it, so a machine whose disk or cores stand still for a moment must not
look like a wedged front. Questions that wait at the same time are left unanswered together: they count as one silence,
by its length and not by their number.
"""

from __future__ import annotations

SILENT = 15.0
"""Seconds without a word since the first question that was left unanswered."""
LEAST = 2
"""Questions that it must have left unanswered at least: time in which nobody asked proves nothing."""


class Silence:
    """What one front has not said."""

    def __init__(self) -> None:
        self._heard = -1
        self._since = 0.0
        self._count = 0

    def broken(self) -> None:
        """It answered."""
        self._count = 0

    def unanswered(self, heard: int, asked: float, now: float) -> bool:
        """A question was given up; whether the front counts as wedged now.

        Args:
            heard: messages that ever came from it; one more, also a late answer, begins a new silence.
            asked: when the question was put, monotonic.
            now: monotonic.
        """
        if heard != self._heard or not self._count:
            self._heard, self._since, self._count = heard, asked, 0
        self._count += 1
        return self._count >= LEAST and now - self._since >= SILENT
