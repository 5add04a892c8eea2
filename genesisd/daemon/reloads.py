"""When a reload has its turn: one at a time, and one for all signals that came before it began."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from genesisd.control.views import ReloadView
from genesisd.daemon.background import Background
from genesisd.errors import GenesisError


class Reloads:
    """Reloads of one run.

    Args:
        once: does one.
        started: set once there is something to reload.
        background: where those that signals ask for are done.

    Attributes:
        turn: held by whoever reloads, or must not meet a reload.
        waits: whether a signal's reload has not begun yet.
    """

    def __init__(
        self, once: Callable[[], Awaitable[ReloadView]], started: asyncio.Event, background: Background
    ) -> None:
        self.turn = asyncio.Lock()
        self.waits = False
        self._once = once
        self._started = started
        self._background = background

    async def now(self) -> ReloadView:
        """Read the configuration again. Raises ConfigError and changes nothing."""
        async with self.turn:
            return await self._once()

    def soon(self) -> None:
        """For a signal: a bad file is told in log, journal and metrics, and the old one stays in force."""
        if not self.waits:
            self.waits = True
            self._background.begin(self._quietly())

    async def _quietly(self) -> None:
        await self._started.wait()
        async with self.turn:
            self.waits = False
            with contextlib.suppress(GenesisError):
                await self._once()
