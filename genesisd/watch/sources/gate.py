"""One gate for everything that is asked of upstream: one request at a time, and none while it wants to be left alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from genesisd.clock import Clock
from genesisd.watch.sources import limits
from genesisd.watch.sources.limits import Refusal

Sleep = Callable[[float], Awaitable[None]]


class Gate:
    """Shut by refusals, opened by time. All sweeps of a daemon share one, since upstream counts them as one.

    Args:
        clock: monotonic for the waits, so that a clock that is set does not open it.
        sleep: for tests.
    """

    def __init__(self, clock: Clock, sleep: Sleep = asyncio.sleep) -> None:
        self._clock = clock
        self._sleep = sleep
        self._turn = asyncio.Lock()
        self._opens = clock.monotonic()
        self.refusals = 0
        """In a row."""

    @asynccontextmanager
    async def turn(self, patience: float) -> AsyncIterator[float | None]:
        """Wait for one's turn and for the gate, and keep others out meanwhile.

        Args:
            patience: the longest wait for the gate, in seconds.

        Yields:
            None: ask. Else the wall time until which nothing may be asked: that is longer than ``patience``, or there
            were so many refusals in a row that waiting for the next would be hammering.
        """
        async with self._turn:
            left = self.shut_for()
            if left > patience or (left > 0 and self.refusals >= limits.MOST_REFUSALS):
                yield self._clock.wall() + left
                return
            while (left := self.shut_for()) > 0:
                await self._sleep(left)
            yield None

    def shut_for(self) -> float:
        """Seconds until it opens; 0 while it is open."""
        return max(0.0, self._opens - self._clock.monotonic())

    def told(self, status: int, headers: Mapping[str, str], text: str) -> Refusal | None:
        """Learn from an answer. Returns the refusal that it is, if it is one; ``turn`` then waits."""
        wall = self._clock.wall()
        found = limits.refusal(status, headers, text, wall=wall, before=self.refusals)
        if found is not None:
            self.refusals += 1
            self.shut(found.seconds)
            return found
        if status < 500:
            self.refusals = 0
        if (seconds := limits.spent(headers, wall)) is not None:
            self.shut(seconds)
        return None

    def shut(self, seconds: float) -> None:
        """Keep it shut for at least that long from now."""
        self._opens = max(self._opens, self._clock.monotonic() + seconds)
