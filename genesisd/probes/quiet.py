"""Whether users leave room for a probe: nothing of theirs is in flight, now and at a second look.

The front knows best, since probes do not pass through it. Without one, /load and the engine's gauges stand in; a gauge
alone may be left over from requests that were aborted long ago, so it counts only while something moves.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import aiohttp

from genesisd.probes import metrics
from genesisd.probes.cost import Ledger, Mood
from genesisd.probes.http_client import get
from genesisd.probes.metrics import Values
from genesisd.probes.ports import Target, Traffic
from genesisd.probes.schedule import Scene

T = TypeVar("T")
_TIMEOUT = 2.0
"""Seconds for one question of a look."""
_LIMIT = 4 << 20
"""Bytes of /metrics."""
_SETTLED = 0.5
"""Seconds between the two looks that make a moment quiet: users who ask one thing after the other leave gaps."""
_FRESH = 5.0
"""Seconds after which a look proves nothing about the next, unless a count says that nothing happened in between."""
_IDLE = 60.0
"""Seconds without users after which nobody is there to be disturbed."""
_OWN_RATE = 2.0
"""Tokens a second that the probes of other stages ask for; what moves faster is users' work."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one moment. ``users``: tokens that users were served since the look before."""

    at: float
    traffic: Traffic | None
    load: int | None
    values: Values | None
    users: float = 0.0


@dataclass(slots=True)
class Quiet:
    """Looks of one life, and what they add up to."""

    session: aiohttp.ClientSession
    ledger: Ledger
    _last: Look | None = None
    _since: float | None = None
    """Since when nobody was seen."""
    _refusals: int = 0

    async def scene(self, target: Target, clock: Callable[[], float], settle: float = _SETTLED) -> Scene:
        """Look; where that finds nobody for the first time, look again after ``settle`` seconds, at most half of one."""
        look = await self._look(target, clock)
        mood = self._judge(look)
        if mood is Mood.QUIET and self._since == look.at:
            begun = self._since
            await asyncio.sleep(min(settle, _SETTLED))
            look = await self._look(target, clock)
            mood = self._judge(look)
            if mood is Mood.QUIET and self._since != begun:
                mood = Mood.BUSY  # somebody was served between two looks that both saw nobody
        self._refusals = self._refusals + 1 if mood is Mood.SATURATED else 0
        return Scene(mood, self.ledger.room(look.at, mood), max(0, self._refusals - 1))

    async def _look(self, target: Target, clock: Callable[[], float]) -> Look:
        traffic, values = await asyncio.gather(_soon(target.traffic), _soon(lambda: self._values(target)))
        load = await _soon(lambda: self._load(target)) if traffic is None else None
        now = clock()
        users = 0.0 if values is None else self.ledger.serve(now, values.prompt + values.generation)
        return Look(now, traffic, load, values, users)

    def _judge(self, look: Look) -> Mood:
        last, self._last = self._last, look
        if in_flight(look, last):
            self._since = None
            return Mood.SATURATED if saturated(look) else Mood.BUSY
        if self._since is None or last is None or not undisturbed(last, look):
            self._since = look.at
        return Mood.IDLE if look.at - self._since >= _IDLE else Mood.QUIET

    async def _values(self, target: Target) -> Values | None:
        status, body = await get(self.session, f"{target.base_url}/metrics", target.headers, _LIMIT)
        return metrics.parse(body) if status == 200 and len(body) < _LIMIT else None  # a part has wrong sums

    async def _load(self, target: Target) -> int | None:
        status, body = await get(self.session, f"{target.base_url}/load", target.headers, 4096)
        return int(json.loads(body)["server_load"]) if status == 200 else None


def in_flight(look: Look, last: Look | None) -> bool:
    """Whether anything of users is being worked on."""
    if look.traffic is not None:
        return look.traffic.in_flight > 0
    if look.load:
        return True
    if look.values is None or look.values.running + look.values.waiting <= 0:
        return False
    return last is None or last.values is None or metrics.moved(last.values, look.values)


def saturated(look: Look) -> bool:
    """Whether requests wait in the engine; a gauge above what the front has sent there is left over."""
    waiting = look.values.waiting if look.values is not None else 0.0
    return waiting > 0 and (look.traffic is None or waiting <= look.traffic.in_flight)


def undisturbed(before: Look, after: Look) -> bool:
    """Whether nobody was served between two looks that both saw nobody."""
    if before.traffic is not None and after.traffic is not None:
        return before.traffic.answered == after.traffic.answered
    span = after.at - before.at
    if before.values is None or after.values is None:
        return span <= _FRESH
    return after.users <= _OWN_RATE * max(span, 1.0)


async def _soon(question: Callable[[], Awaitable[T | None]]) -> T | None:
    try:
        async with asyncio.timeout(_TIMEOUT):
            return await question()
    except (aiohttp.ClientError, OSError, ValueError, KeyError, TypeError):  # TimeoutError is an OSError
        return None
