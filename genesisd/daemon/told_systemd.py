"""What systemd is told while the daemon runs: that it lives, and in one line how its workers are."""

from __future__ import annotations

import asyncio

from genesisd.notify import Notifier
from genesisd.supervisor.model import Phase
from genesisd.supervisor.supervisor import Supervisor


async def feed_watchdog(notifier: Notifier, interval: float) -> None:
    """From the loop itself: a loop that is stuck does not ping, and systemd ends it."""
    while True:
        notifier.ping()
        await asyncio.sleep(interval)


async def show_status(notifier: Notifier, supervisor: Supervisor) -> None:
    """One line for ``systemctl status``, sent when it changes."""
    shown = ""
    while True:
        if (line := summary(supervisor)) != shown:
            shown = line
            notifier.status(line)
        await asyncio.sleep(2.0)


def summary(supervisor: Supervisor) -> str:
    """That line."""
    states = supervisor.states.values()
    ready = sum(1 for state in states if state.phase is Phase.READY)
    wanted = sum(1 for state in states if state.wanted)
    return f"{ready} of {wanted} wanted workers ready"
