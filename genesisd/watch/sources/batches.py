"""How many questions go into one request: fewer after one was too much, more again a day later. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

START = 25
REGROW = 86400.0
"""Seconds after which twice as many are tried."""


@dataclass(frozen=True, slots=True)
class Size:
    """``now`` questions a request, decided at the wall time ``since``."""

    now: int = START
    since: float = 0.0

    def shrunk(self, to: int, at: float) -> Size:
        """What went through last; never more than now."""
        return Size(max(1, to), at) if to < self.now else self

    def note(self) -> dict[str, float]:
        """To be kept."""
        return {"size": self.now, "at": self.since}


def recalled(note: Any, at: float, start: int = START) -> Size:
    """The size of a kept note, grown where its time has come; the usual one where there is none to read."""
    if not isinstance(note, Mapping):
        return Size(start, at)
    size, since = note.get("size"), note.get("at")
    if type(size) is not int or not isinstance(since, int | float) or not 1 <= size <= start:
        return Size(start, at)
    # A clock that was set back must not keep it small for ever.
    return Size(min(start, size * 2), at) if not 0 <= at - since < REGROW else Size(size, since)
