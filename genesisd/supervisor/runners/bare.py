"""A tree whose shim is dead: watched by the leader's pidfd, and killed by its marks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from genesisd.identity import open_exactly
from genesisd.process_ref import ProcessRef
from genesisd.supervisor import tree

SPARE = 1.0
"""Seconds that resource_tracker is spared, so that it can clear /dev/shm."""
BOUND = 10.0
"""Seconds of SIGKILL after which what is left counts as unkillable."""
SLOW_LOOK = 1.0


class Watch:
    """Calls back once when exactly this process dies; it costs a file descriptor, not a thread."""

    def __init__(self, ref: ProcessRef, on_death: Callable[[], None]) -> None:
        self._on_death = on_death
        self._loop = asyncio.get_running_loop()
        self._fd = open_exactly(ref)
        if self._fd is None:
            self._loop.call_soon(on_death)
        else:
            self._loop.add_reader(self._fd, self._dead)

    def close(self) -> None:
        """Watch no longer."""
        if self._fd is not None:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = None

    def _dead(self) -> None:
        self.close()
        self._on_death()


async def kill_tree(marks: tree.Marks, on_survivors: Callable[[int], None] | None = None) -> int:
    """SIGKILL a tree until it is empty; how many survived.

    With ``on_survivors`` it tells that number after the bound and keeps trying until none is left: a process that
    hangs in the kernel dies when its I/O ends.
    """
    loop = asyncio.get_running_loop()
    began, pause, told = loop.time(), 0.005, False
    while True:
        now = loop.time() - began
        alive = tree.kill_pass(marks, spare_tracker=now < SPARE)
        if not alive:
            return 0
        if now >= BOUND and not told:
            if on_survivors is None:
                return alive
            on_survivors(alive)
            told = True
        await asyncio.sleep(SLOW_LOOK if told else pause)
        pause = min(pause * 1.5, 0.05)
