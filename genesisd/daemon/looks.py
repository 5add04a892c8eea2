"""What is asked of fronts and cards because somebody looks, and what a scrape is shown beside it."""

from __future__ import annotations

import contextlib

import genesisd
from genesisd.clock import Clock
from genesisd.daemon.background import Background
from genesisd.errors import GenesisError
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.parts import Parts

REFRESH_SECONDS = 0.5
"""How old what status remembers of the fronts may be before a look renews it."""


class Looks:
    """Brings up to date what is remembered, as often as it is looked at."""

    def __init__(self, parts: Parts, metrics: Metrics, clock: Clock, background: Background) -> None:
        self._parts = parts
        self._metrics = metrics
        self._clock = clock
        self._background = background
        self._refreshed = 0.0

    def fronts_soon(self) -> None:
        """Somebody looks at status: ask the fronts, without waiting."""
        if self._clock.monotonic() - self._refreshed > REFRESH_SECONDS:
            self._background.begin(self._fronts())

    async def scrape(self) -> None:
        """Before a scrape."""
        self._metrics.refresh()
        await self._parts.watch.refresh()
        await self._fronts()
        if any(spec.gpus for spec in self._parts.supervisor.specs.values()):
            with contextlib.suppress(GenesisError):
                self._metrics.cards((await self._parts.cards.cards()).values())

    async def _fronts(self) -> None:
        self._refreshed = self._clock.monotonic()
        await self._parts.fronts.refresh()
        for name in self._parts.supervisor.specs:
            self._metrics.front(name, self._parts.fronts.latest.get(name))

    def health(self) -> tuple[bool, dict[str, object]]:
        """The daemon's own, from memory."""
        return True, {"version": genesisd.__version__, "workers": len(self._parts.supervisor.specs)}

    def engines(self) -> dict[str, tuple[str, int]]:
        """Where the engines' own series are, by worker."""
        lives = {name: self._parts.runner.life(name) for name in self._parts.supervisor.specs}
        return {name: (life.host, life.port) for name, life in lives.items() if life is not None}
