"""Time as an object, so that decisions can be tested without waiting.

``monotonic`` is CLOCK_MONOTONIC: on Linux it is one clock for every process since boot, so a value stored
by one daemon is meaningful to the next one while the boot id is the same.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Where shells get the time; pure code receives it as ``at``."""

    def monotonic(self) -> float:
        """Seconds since boot: for durations and deadlines."""
        ...

    def wall(self) -> float:
        """Seconds since the epoch: for storage and display only."""
        ...


class SystemClock:
    """The kernel's clocks."""

    def monotonic(self) -> float:
        """Seconds since boot."""
        return time.monotonic()

    def wall(self) -> float:
        """Seconds since the epoch."""
        return time.time()
