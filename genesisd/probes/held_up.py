"""How long this side itself stood still. What a server does meanwhile (close what is idle, say) is not its fault."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

_TICK = 0.05


@dataclass(slots=True)
class HeldUp:
    """Use as an async context manager around what is watched.

    Attributes:
        longest: seconds by which the event loop was late at worst.
    """

    clock: Callable[[], float] = time.monotonic
    longest: float = 0.0
    _due: float = 0.0
    _task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._due = self.clock() + _TICK
        self._task = asyncio.create_task(self._tick())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._look()  # a block that ends with what is watched is told by no tick
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(_TICK)
            self._look()
            self._due = self.clock() + _TICK

    def _look(self) -> None:
        self.longest = max(self.longest, self.clock() - self._due)
