"""The sweeps there are. Pure."""

from __future__ import annotations

from enum import StrEnum


class SweepKind(StrEnum):
    """How much of upstream is asked about."""

    WEEKLY = "weekly"
    """As nightly, and diffs are fetched anew."""
    NIGHTLY = "nightly"
    HOURLY = "hourly"
    """Rows of P0 and P1 alone."""
    NOW = "now"
    """As nightly, on a person's word. It stands for no window but its own."""

    def does(self, other: SweepKind) -> bool:
        """Whether a sweep of this kind does all that one of the other would."""
        return _WIDTH[self] >= _WIDTH[other]


_WIDTH = {SweepKind.WEEKLY: 2, SweepKind.NIGHTLY: 1, SweepKind.NOW: 1, SweepKind.HOURLY: 0}
SCHEDULED = (SweepKind.WEEKLY, SweepKind.NIGHTLY, SweepKind.HOURLY)
"""Widest first: of those that come from the schedule, each does all that the later ones do."""
