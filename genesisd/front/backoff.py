"""How long to wait before a front is started again. Pure."""

from __future__ import annotations

from dataclasses import dataclass

STEADY = 10.0
"""Seconds after which a front counts as having worked."""
_FIRST = 0.1
_MOST = 5.0


@dataclass(frozen=True, slots=True)
class Backoff:
    """The first restart is immediate; the next ones wait twice as long each, up to 5 s."""

    failures: int = 0

    def after(self, lived: float) -> Backoff:
        """The state after a front that lived this many seconds (0 for one that never served)."""
        return Backoff(1 if lived >= STEADY else self.failures + 1)

    @property
    def delay(self) -> float:
        """Seconds to wait now."""
        return 0.0 if self.failures <= 1 else min(_MOST, _FIRST * 2.0 ** min(self.failures - 2, 16))
