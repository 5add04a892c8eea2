"""One ask under its deadline. Whatever a probe does wrong itself is 'could not ask', never the worker's failure."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace

from genesisd.clock import Clock
from genesisd.probes.model import Outcome, unknown
from genesisd.probes.ports import Probe, Target

_LATE = 10.0
"""Seconds in which a probe must say what its missed deadline means."""


async def ask(probe: Probe, target: Target, timeout: float, clock: Clock, raised: Callable[[], None]) -> Outcome:  # noqa: ASYNC109 - a probe's deadline is told by its own ``late``
    """The answer with its seconds; ``raised`` is called for a probe that failed itself."""
    begun = clock.monotonic()
    try:
        outcome = await _by_deadline(probe, target, timeout, clock)
    except Exception as error:  # noqa: BLE001 - whatever a probe raises, the worker is not to blame
        raised()
        outcome = unknown(f"the probe itself failed: {type(error).__name__}: {error}", error=repr(error))
    return replace(outcome, seconds=clock.monotonic() - begun)


async def _by_deadline(probe: Probe, target: Target, seconds: float, clock: Clock) -> Outcome:
    try:
        async with asyncio.timeout(seconds) as deadline:
            return await probe.ask(target, clock.monotonic())
    except TimeoutError:
        if not deadline.expired():
            raise  # the probe's own timeout went astray
    async with asyncio.timeout(_LATE):
        return await probe.late(target, clock.monotonic())
