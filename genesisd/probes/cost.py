"""What probes take against what users are served, over a sliding window. Pure.

Beside traffic probes keep below their share of what users got: there is no floor, since a floor would be many times the
share on a worker that is small and busy. Between two requests of users there is one, so that a worker with little
traffic is asked as well. A worker that nobody uses is asked as often as its probes' periods say.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field
from enum import StrEnum

from genesisd.probes.spec import CostSpec

_BUCKETS = 120
"""Parts of the window in which entries are put together: an hour of looks every second is not kept one by one."""


class Mood(StrEnum):
    """How a worker is at one moment, for whoever would ask it something."""

    IDLE = "idle"
    """Nobody uses it, and has not for a while."""
    QUIET = "quiet"
    """Nothing of users is in flight just now."""
    BUSY = "busy"
    """Users are being served."""
    SATURATED = "saturated"
    """Users' requests wait for room in the engine: one more would make them wait longer."""


@dataclass(frozen=True, slots=True)
class Room:
    """Tokens that one ask may cost now.

    Attributes:
        left: what is not spent.
        most: the whole allowance. What costs more can never be asked in such a moment, however long it waits.
    """

    left: float = math.inf
    most: float = math.inf


@dataclass(slots=True)
class Ledger:
    """Tokens spent and served. Times must not run backwards."""

    spec: CostSpec
    _spent: deque[tuple[float, int, Mood]] = field(default_factory=deque)
    _served: deque[tuple[float, float]] = field(default_factory=deque)
    _counter: float | None = None
    _counted_at: float = 0.0
    _own: float = 0.0
    """Tokens of probes that the engine's counters have not shown yet."""

    def spend(self, now: float, tokens: int, mood: Mood) -> None:
        """Probes took ``tokens`` in an ask that began in ``mood``."""
        if tokens <= 0:
            return
        self._own += tokens
        self._spent.append((now, tokens, mood))
        self._forget(now)

    def serve(self, now: float, counter: float) -> float:
        """Take the engine's count of prompt and generated tokens; returns what of it is new and users'.

        A count that went down is a server that began again: all of it is new. What is new is dated at the look
        before, so that it leaves the window no later than it may.
        """
        before, since = self._counter, self._counted_at
        self._counter, self._counted_at = counter, now
        if before is None:
            self._own = 0.0  # whatever was asked until here is in the count that all later ones are held against
            return 0.0
        grown = counter if counter < before else counter - before
        users = max(0.0, grown - self._own)
        self._own = max(0.0, self._own - grown)
        self._add(since, users)
        self._forget(now)
        return users

    def room(self, now: float, mood: Mood) -> Room:
        """What an ask may cost that begins in ``mood``."""
        if mood is Mood.IDLE:
            return Room()
        self._forget(now)
        share = self.spec.share * sum(tokens for _, tokens in self._served)
        if mood is Mood.QUIET:
            most = max(share, float(self.spec.floor))
            return Room(most - self._taken({Mood.QUIET, Mood.BUSY, Mood.SATURATED}), most)
        return Room(share - self._taken({Mood.BUSY, Mood.SATURATED}), share)

    def _taken(self, moods: set[Mood]) -> int:
        return sum(tokens for _, tokens, mood in self._spent if mood in moods)

    def _add(self, at: float, tokens: float) -> None:
        if tokens <= 0:
            return
        if self._served and at - self._served[-1][0] < self.spec.window / _BUCKETS:
            self._served[-1] = (self._served[-1][0], self._served[-1][1] + tokens)
        else:
            self._served.append((at, tokens))

    def _forget(self, now: float) -> None:
        oldest = now - self.spec.window
        while self._served and self._served[0][0] < oldest:
            self._served.popleft()
        while self._spent and self._spent[0][0] < oldest:
            self._spent.popleft()
