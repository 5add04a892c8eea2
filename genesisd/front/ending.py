"""Waits for the end of a front, whether it is a child of this daemon or was adopted from the one before."""

from __future__ import annotations

import asyncio
import os
import signal

from genesisd.identity import open_exactly, signal_exactly
from genesisd.process_ref import ProcessRef

_DEAD_WITHIN = 5.0
"""Seconds in which what was killed is dead, and can be reaped."""


async def ended(identity: ProcessRef, within: float) -> bool:
    """Whether the process ended within so many seconds; a child that did is reaped."""
    pidfd = open_exactly(identity)
    if pidfd is not None:
        loop = asyncio.get_running_loop()
        gone = asyncio.Event()
        loop.add_reader(pidfd, gone.set)
        try:
            async with asyncio.timeout(within):
                await gone.wait()
        except TimeoutError:
            return False
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)
    reap(identity.pid)
    return True


async def await_end(identity: ProcessRef, within: float) -> None:
    """Wait for the process to end; kill it after so many seconds."""
    if not await ended(identity, within):
        signal_exactly(identity, signal.SIGKILL)
        await ended(identity, _DEAD_WITHIN)


def reap(pid: int) -> None:
    """Collect a dead child; nothing happens when it is not ours or not dead."""
    try:
        os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return
