"""``creep``: resident memory, card memory and the KV cache do not grow for hours.

KV use is looked at while no request is there: what is held then belongs to nobody. Under load it follows the requests,
and long answers make it grow for as long as they last.
"""

from __future__ import annotations

from collections import deque

import aiohttp

from genesisd.probes import metrics, procfs
from genesisd.probes.model import Outcome, failure, success, unknown
from genesisd.probes.page import page
from genesisd.probes.ports import Target
from genesisd.probes.slope import HOUR, Growth, Point, growth
from genesisd.probes.spec import CreepProbe

_WARMUP = 300.0
"""Seconds of a life that are left out: code is compiled, caches are filled and buffers grow to their size."""
_MIB = 1 << 20
_PARTS = (0.5, 0.25)
"""Later parts of the window that are looked at alone: a leak that begins after hours is not told hours later. None is
shorter, since memory that is taken and given back within half an hour would look like a leak on its way up."""
_GRAIN = 1.0
"""Seconds within which a second look adds nothing: it would count one state of the engine twice."""


class Series:
    """One measure over the window."""

    def __init__(self, what: str, limit: float, spec: CreepProbe) -> None:
        self.what, self.limit, self._spec = what, limit, spec
        self.points: deque[Point] = deque()

    def add(self, now: float, value: float) -> None:
        """A value; those that left the window are forgotten."""
        if self.points and now - self.points[-1][0] < min(_GRAIN, self._spec.period / 2):
            return
        self.points.append((now, value))
        while self.points[0][0] < now - self._spec.window:
            self.points.popleft()

    @property
    def span(self) -> float:
        """Seconds between the oldest and the newest value."""
        return self.points[-1][0] - self.points[0][0] if self.points else 0.0

    def grown(self) -> Growth | None:
        """What is sure about it, or None where that is too early to tell.

        Of the whole window; where only its later part grows, of that. What is looked at more often finds more by
        chance, so each look has to be surer.
        """
        if len(self.points) < self._spec.min_samples or self.span < self._spec.min_span:
            return None
        sure = 1 - (1 - self._spec.confidence) / (1 + len(_PARTS))
        spans = [self.span, *(share * self._spec.window for share in _PARTS if share * self._spec.window < self.span)]
        known = [one for span in spans if (one := growth(self._last(span), sure)) is not None]
        return next((one for one in known if one.exceeds(self.limit)), known[0] if known else None)

    def _last(self, span: float) -> list[Point]:
        start = self.points[-1][0] - span
        return [one for one in self.points if one[0] >= start]


class Creep:
    """Remembers three series of one life."""

    def __init__(self, spec: CreepProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session
        self._resident = Series("resident memory", float(spec.memory), spec)
        self._cards = Series("card memory", float(spec.memory), spec)
        self._kv = Series("the KV cache that nobody uses", spec.kv, spec)
        self._began: float | None = None

    async def ask(self, target: Target, now: float) -> Outcome:
        """Take a look, and weigh what there is."""
        if self._began is None:
            self._began = now
        if now - self._began < self._warmup:
            return unknown(f"too early: the first {self._warmup:.0f} s are left out")
        if resident := _resident(target):  # nothing is held by a tree that is ending, which is no low point
            self._resident.add(now, resident)
        if (held := await target.card_memory()) is not None:
            self._cards.add(now, held)
        if (used := await self._unused(target)) is not None:
            self._kv.add(now, used)
        return self._weigh()

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Nothing is known."""
        return unknown(f"a look took longer than {self._spec.timeout:g} s")

    async def close(self) -> None:
        """Nothing is kept open."""

    @property
    def _warmup(self) -> float:
        """In proportion, where an operator wants to be told sooner than after ten minutes."""
        return min(_WARMUP, self._spec.min_span / 2)

    async def _unused(self, target: Target) -> float | None:
        text = await page(self._session, target)
        if isinstance(text, Outcome):
            return None
        values = metrics.parse(text)
        return values.kv if values is not None and values.running + values.waiting == 0 else None

    def _weigh(self) -> Outcome:
        every = (self._resident, self._cards, self._kv)
        known = [(one, grown) for one in every if (grown := one.grown()) is not None]
        if not known:
            few, span = len(self._resident.points), self._resident.span
            return unknown(f"too early: {few} looks in {span:.0f} s, {self._spec.min_span:.0f} s are needed")
        facts: dict[str, object] = {one.what: _facts(grown) for one, grown in known}
        found = [_told(one, grown) for one, grown in known if grown.exceeds(one.limit)]
        if found:
            return failure("; ".join(found), **facts)
        names = ", ".join(one.what for one, _ in known)
        return success(f"{names}: no lasting growth within {self._resident.span:.0f} s", **facts)


def _resident(target: Target) -> int:
    return sum(one.rss for pid in target.members() if (one := procfs.stat(pid)) is not None)


def _facts(grown: Growth) -> dict[str, float]:
    return {"surely_an_hour": grown.rate * HOUR, "grown": grown.total, "seconds": round(grown.span, 1)}


def _told(one: Series, grown: Growth) -> str:
    rate, limit = grown.rate * HOUR, one.limit
    shown = (f"{rate:.2%}", f"{limit:.2%}") if limit < 1 else (f"{rate / _MIB:.0f} MiB", f"{limit / _MIB:.0f} MiB")
    return f"{one.what} grows by at least {shown[0]} an hour over {grown.span:.0f} s, expected less than {shown[1]}"
