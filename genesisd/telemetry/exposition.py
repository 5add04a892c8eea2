"""The page that Prometheus scrapes, rendered in slices so that the loop is never held for more than a few ms."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from prometheus_client import generate_latest

from genesisd.telemetry import names
from genesisd.telemetry.bridge import process_registry
from genesisd.telemetry.metrics import Metrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SLICE = 0.001
"""Seconds of rendering between two turns of the loop."""
REFRESH_DEADLINE = 1.0

Refresh = Callable[[], Awaitable[None]]
Source = Callable[[], AsyncIterator[bytes]]


class Slicer:
    """Gives the loop a turn whenever a slice is used up."""

    def __init__(self, seconds: float = SLICE) -> None:
        self._seconds = seconds
        self._since = time.perf_counter()

    async def pause(self) -> None:
        """Return at once, or after a turn of the loop."""
        if time.perf_counter() - self._since >= self._seconds:
            await asyncio.sleep(0)
            self._since = time.perf_counter()


class Exposition:
    """Renders pages; scrapes that arrive together share one.

    Args:
        metrics: what to show.
        refresh: awaited before each page, for at most a second: the place to ask fronts and cards.
        more: further chunks after our own, such as the workers' own metrics.
    """

    def __init__(self, metrics: Metrics, refresh: Refresh | None = None, more: Source | None = None) -> None:
        self._metrics = metrics
        self._refresh = refresh
        self._more = more
        self._process = process_registry()
        self._current: asyncio.Task[list[bytes]] | None = None

    async def page(self) -> list[bytes]:
        """The whole page in chunks."""
        if self._current is None:
            self._current = asyncio.create_task(self._render())
            self._current.add_done_callback(self._done)
        # Shielded: one scraper that hangs up must not take the page from the others.
        return await asyncio.shield(self._current)

    def _done(self, task: asyncio.Task[list[bytes]]) -> None:
        self._current = None
        if not task.cancelled():
            task.exception()

    async def close(self) -> None:
        """Stop a rendering that goes on for nobody."""
        if (task := self._current) is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _render(self) -> list[bytes]:
        await self._refreshed()
        slicer = Slicer()
        chunks: list[bytes] = []
        for family in names.FAMILIES:
            lines = [family.header()]
            for series in self._metrics.series(family):
                lines.append(series.text())
                await slicer.pause()
            if any(lines[1:]):
                chunks.append("".join(lines).encode())
        chunks.append(generate_latest(self._process))
        if self._more is not None:
            chunks.extend([chunk async for chunk in self._more()])
        return chunks

    async def _refreshed(self) -> None:
        if self._refresh is not None:
            try:
                async with asyncio.timeout(REFRESH_DEADLINE):
                    await self._refresh()
            except Exception:  # noqa: BLE001 (old values beat no page, and an absent page pages somebody)
                self._metrics.sink_error()
        self._metrics.refresh()
