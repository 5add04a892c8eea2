"""What the connections of one front share: where it points, who waits, and what is counted."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Protocol

from genesisd.front.decide import Closed, Held, Limits, Open, Target
from genesisd.front.wire import FrontStats


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds. None of them touches an exchange in progress.

    Attributes:
        head: for a request's headers to arrive, counted from their first byte.
        idle: for a client connection without a request.
        linger: for a client to read the last answer before its connection is cut.
        connect: for one attempt to reach the engine.
        reuse: for which an idle connection to the engine is used again. Well below the 5 s after which vLLM
            closes it: a request sent into a closing connection would be lost.
    """

    head: float = 20.0
    idle: float = 120.0
    linger: float = 5.0
    connect: float = 5.0
    reuse: float = 2.0


@dataclass(frozen=True, slots=True)
class Standing:
    """What one connection contributes to the counts.

    Attributes:
        incarnation: the one that works on its request, or None.
        since: when the engine got all it needs to answer and has not begun to, or None.
    """

    incarnation: int | None = None
    since: float | None = None


class Connection(Protocol):
    """A client's connection, as the switchboard sees it."""

    def standing(self) -> Standing: ...
    def retarget(self) -> None:
        """The target changed: let go of what is idle."""
        ...

    def tick(self, now: float) -> None:
        """Enforce the timeouts; called about once a second."""
        ...

    def leave(self) -> None:
        """The front is ending: close once nothing is in flight."""
        ...

    def cut(self) -> None:
        """End at once."""
        ...


class Switchboard:
    """The one owner of the target. Counts come from the live connections, so no abort can leave one behind.

    Who waits is one of those that are open, at every instant.
    """

    def __init__(self, limits: Limits, timeouts: Timeouts, capacity: int) -> None:
        self.target: Target = Held()
        self.limits = limits
        self.timeouts = timeouts
        self.capacity = capacity
        self.leaving = False
        self.connections: set[Connection] = set()
        self.waiting: set[Connection] = set()
        self.answered = 0
        self.refused = 0
        self.lost = 0
        self._changed = asyncio.Event()

    def point(self, target: Target) -> None:
        """Point at ``target`` and wake whoever waits."""
        self.target = target
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        for connection in list(self.connections):
            connection.retarget()

    def limit(self, limits: Limits) -> None:
        """Change the limits; requests that wait are judged by the new ones at once."""
        self.limits = limits
        self.point(self.target)

    def forget(self, connection: Connection) -> None:
        """It is lost, and counts for nothing from this instant on: its task, which is cancelled, ends only later."""
        self.connections.discard(connection)
        self.waiting.discard(connection)

    async def change(self, until: float) -> None:
        """Return when the target changed, or at this time of the loop's clock."""
        try:
            async with asyncio.timeout_at(until):
                await self._changed.wait()
        except TimeoutError:
            pass

    def leave(self) -> None:
        """Refuse what waits and close what is idle; exchanges in progress go on."""
        self.leaving = True
        self.point(Closed("the front of this worker is shutting down"))
        for connection in list(self.connections):
            connection.leave()

    def tick(self, now: float) -> None:
        """Let every connection look at the time."""
        for connection in list(self.connections):
            connection.tick(now)

    def by_incarnation(self) -> dict[int, int]:
        """Requests in flight on each incarnation."""
        counts: dict[int, int] = {}
        for connection in self.connections:
            incarnation = connection.standing().incarnation
            if incarnation is not None:
                counts[incarnation] = counts.get(incarnation, 0) + 1
        return counts

    def stats(self, now: float) -> FrontStats:
        """Count. Requests that are held are in ``held`` alone: no engine owes them anything yet."""
        standings = [connection.standing() for connection in self.connections]
        since = [standing.since for standing in standings if standing.since is not None]
        return FrontStats(
            open=len(standings),
            in_flight=sum(standing.incarnation is not None for standing in standings),
            unanswered=len(since),
            held=len(self.waiting),
            answered=self.answered,
            refused=self.refused,
            oldest_unanswered=max(0.0, now - min(since)) if since else 0.0,
        )


def reachable(target: Target) -> Open | None:
    """The target, if it is an engine."""
    return target if isinstance(target, Open) else None
