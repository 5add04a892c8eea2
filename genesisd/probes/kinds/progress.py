"""``progress``: something moves while anything is owed. The deciding is in ``probes/progress.py``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

import aiohttp

from genesisd.probes import metrics
from genesisd.probes.canary import CanaryCage
from genesisd.probes.http_client import get
from genesisd.probes.model import Outcome, Verdict, unknown
from genesisd.probes.ports import Target
from genesisd.probes.progress import Canary, History, Look, Window, decide, wants_canary
from genesisd.probes.spec import ProgressProbe

T = TypeVar("T")


class Progress:
    """Adds looks up over one life and keeps one canary."""

    def __init__(self, spec: ProgressProbe, session: aiohttp.ClientSession) -> None:
        self._spec, self._session = spec, session
        self._window = Window(spec.window, spec.slowest_step_factor, spec.warmup)
        self._cap = 2 * spec.period + spec.timeout
        self._history = History()
        self._canary = CanaryCage(session)
        self._own = False
        self._first_use_since: float | None = None

    async def ask(self, target: Target, now: float) -> Outcome:
        """Look, decide, and send a canary where one is due.

        While a probe's question is the first of its sort nothing is looked at: what the engine compiles for it is no
        hang, and must not pass for the slowest step either, as that would widen the window for the rest of the life.
        """
        if (waited := self._compiles_for(target, now)) is not None:
            return unknown("a probe asks for what the engine may first have to compile", waited=waited)
        look = await self._look(target, now)
        self._history = self._history.seen(look, self._cap)
        decision = decide(self._history, now, self._window)
        if decision.verdict is not Verdict.FAILURE and wants_canary(
            self._history, now, self._spec.canary_period, self._window
        ):
            await self._canary.send(target, now)
            self._own = True
        return Outcome(decision.verdict, decision.summary, self._evidence(look))

    async def late(self, target: Target, now: float) -> Outcome:  # noqa: ARG002 - the port's signature
        """Each question of a look has its own, shorter deadline: this side was slow."""
        return unknown(f"a look took longer than {self._spec.timeout:g} s")

    async def close(self) -> None:
        """Withdraw the canary."""
        await self._canary.close()

    def _compiles_for(self, target: Target, now: float) -> float | None:
        """Seconds that a first use is under way; None where there is none, or for longer than compiling takes."""
        if not target.seen.first_uses:
            self._first_use_since = None
            return None
        if self._first_use_since is None:
            self._first_use_since = now
        waited = now - self._first_use_since
        return waited if waited < self._spec.warmup else None

    async def _look(self, target: Target, now: float) -> Look:
        values, look = await asyncio.gather(self._soon(lambda: self._values(target)), self._owed(target, Look(at=now)))
        own, self._own = self._own, self._own and values is None
        standing = self._canary.standing()
        age = now - self._canary.sent_at if standing is not Canary.NONE else 0.0
        return replace(look, values=values, canary=standing, canary_age=age, own=own)

    async def _owed(self, target: Target, look: Look) -> Look:
        """What is owed to users, by the front's word; without a front by /load, which counts probes as well."""
        traffic = await self._soon(target.traffic)
        if traffic is None:
            return replace(look, unanswered=await self._soon(lambda: self._load(target)) or 0)
        waited = traffic.oldest_unanswered if traffic.unanswered else 0.0
        return replace(look, unanswered=traffic.unanswered, certain=True, owed_for=waited, answered=traffic.answered)

    async def _soon(self, question: Callable[[], Awaitable[T | None]]) -> T | None:
        try:
            async with asyncio.timeout(0.4 * self._spec.timeout):
                return await question()
        except (aiohttp.ClientError, OSError, ValueError):  # TimeoutError is an OSError
            return None

    async def _values(self, target: Target) -> metrics.Values | None:
        url, limit = f"{target.base_url}/metrics", self._spec.response_limit
        status, body = await get(self._session, url, target.headers, limit)
        return metrics.parse(body) if status == 200 and len(body) < limit else None  # a part has wrong sums

    async def _load(self, target: Target) -> int | None:
        status, body = await get(self._session, f"{target.base_url}/load", target.headers, 4096)
        return int(json.loads(body)["server_load"]) if status == 200 else None

    def _evidence(self, look: Look) -> dict[str, object]:
        history = self._history
        return {
            "still_seconds": round(history.still, 3),
            "window_seconds": round(self._window.seconds(history), 3),
            "slowest_step_seconds": round(history.slowest, 3),
            "unanswered": look.unanswered,
            "canary": look.canary.value,
            "canary_age_seconds": round(look.canary_age, 3),
            "metrics": history.values.as_evidence() if history.values else None,
            "metrics_readable": look.values is not None,
        }
