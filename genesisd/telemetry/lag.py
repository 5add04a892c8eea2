"""How late the event loop runs: a wish to wake at a time, compared with the wake."""

from __future__ import annotations

import asyncio
from collections import deque

from genesisd.telemetry.metrics import Metrics

PERIOD = 1.0
KEEP = 15
"""Periods whose maximum is shown: a spike stays visible to a scrape every 15 seconds."""


async def watch_loop_lag(metrics: Metrics, period: float = PERIOD) -> None:
    """Measure for ever; cancel it to end."""
    loop = asyncio.get_running_loop()
    recent: deque[float] = deque(maxlen=KEEP)
    while True:
        wanted = loop.time() + period
        await asyncio.sleep(period)
        recent.append(max(0.0, loop.time() - wanted))
        metrics.loop_lag(max(recent))
