"""Recent events in memory, for any number of readers that may be slow or vanish.

There is one ring and each reader has only a position in it, so a reader costs nothing and cannot hold memory. One
that falls behind the ring gets a ``gap`` event that says how many it missed.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping

from genesisd.control.views import EventView

GAP = "gap"


class EventFeed:
    """A bounded ring of events. Belongs to one event loop."""

    def __init__(self, capacity: int = 4096) -> None:
        self._ring: deque[EventView] = deque(maxlen=capacity)
        self._next = 1
        self._news = asyncio.Event()

    def publish(self, kind: str, worker: str | None, fields: Mapping[str, object], at: float) -> EventView:
        """Append an event that happened at wall time ``at``; never blocks."""
        event = EventView(self._next, at, kind, worker, fields)
        self._next += 1
        self._ring.append(event)
        self._news.set()
        self._news = asyncio.Event()
        return event

    async def read(self, since: float | None, *, follow: bool, worker: str | None) -> AsyncIterator[EventView]:
        """Events from wall time ``since`` on, then new ones while ``follow``.

        Without ``since`` a follower gets new events only, and any other reader all that are kept.
        """
        position = self._next if follow and since is None else self._first()
        while True:
            news = self._news
            for event in self._from(position):
                position = event.seq + 1
                if _wanted(event, since, worker):
                    yield event
            if position < self._next:
                continue
            if not follow:
                return
            await news.wait()

    def _first(self) -> int:
        return self._ring[0].seq if self._ring else self._next

    def _from(self, position: int) -> list[EventView]:
        """What is there from ``position`` on, led by a gap where the ring has moved past it."""
        first = self._first()
        found = list(self._ring)[max(0, position - first) :]
        missed = first - position
        if missed > 0:
            found.insert(0, EventView(first - 1, found[0].at, GAP, None, {"missed": missed}))
        return found


def _wanted(event: EventView, since: float | None, worker: str | None) -> bool:
    if event.kind == GAP:
        return True
    return (worker is None or event.worker == worker) and (since is None or event.at >= since)
