"""A reader of events that may be slow: its queue is bounded, and what it missed is said in the stream."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

DROPPED = "dropped"
"""Kind of the mark that stands where events were dropped; ``fields`` has their ``count``."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event as the sink hands it on. ``id`` is that of the journal, or None where it is not kept there."""

    id: int | None
    at: float
    kind: str
    worker: str | None
    incarnation: int | None
    fields: Mapping[str, Any]


class Subscription:
    """Async iterator over events from now on. The oldest are dropped when the reader is too slow."""

    def __init__(self, capacity: int = 1024) -> None:
        self._events: deque[Told] = deque()
        self._capacity = capacity
        self._dropped = 0
        self._news = asyncio.Event()
        self.total_dropped = 0

    def put(self, event: Told) -> None:
        """Never blocks."""
        if len(self._events) >= self._capacity:
            self._events.popleft()
            self._dropped += 1
            self.total_dropped += 1
        self._events.append(event)
        self._news.set()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Told:
        while not self._events:
            self._news.clear()
            await self._news.wait()
        if self._dropped:
            count, self._dropped = self._dropped, 0
            return Told(None, self._events[0].at, DROPPED, None, None, {"count": count})
        return self._events.popleft()
