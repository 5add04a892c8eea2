"""Work for one worker that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any


class Beside:
    """Holds the tasks, since the loop alone would let them be collected."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        """Do it from now on."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def end(self) -> None:
        """Cancel what is left, and wait until it is gone."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
