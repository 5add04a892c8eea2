"""Whether a start makes progress: CPU time, memory and log of the whole tree."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from genesisd.clock import Clock
from genesisd.probes import procfs
from genesisd.probes.ports import Target

_PERIOD = 1.0
"""Seconds between two looks at a starting tree."""

_CPU_SHARE = 0.05
"""Share of a core that counts as work: an idle tree polls and uses a little as well."""
_GROWTH = 1 << 20
"""Bytes of new memory that count."""


@dataclass(frozen=True, slots=True)
class Vitals:
    """A tree at one moment. ``log`` is (inode, size), or None."""

    at: float
    cpu: float
    rss: int
    log: tuple[int, int] | None


def take(members: Sequence[int], log: Path | None, now: float) -> Vitals:
    """Look at the tree."""
    stats = [one for one in map(procfs.stat, members) if one]
    return Vitals(now, sum(one.cpu for one in stats), sum(one.rss for one in stats), _mark(log))


def progressed(before: Vitals, now: Vitals) -> bool:
    """Whether the tree did something between two looks that are about a second apart."""
    worked = now.cpu - before.cpu >= _CPU_SHARE * (now.at - before.at) > 0
    grew = now.rss - before.rss >= _GROWTH
    # A rotated or truncated log has another mark too: somebody wrote.
    return worked or grew or (now.log is not None and now.log != before.log)


def _mark(log: Path | None) -> tuple[int, int] | None:
    try:
        found = log.stat() if log else None
    except OSError:
        return None
    return (found.st_ino, found.st_size) if found else None


async def follow(target: Target, clock: Clock, moved: Callable[[], None], fault: Callable[[], None]) -> None:
    """Look for ever, and call ``moved`` for each look that finds progress, ``fault`` for each that fails."""
    before: Vitals | None = None
    while True:
        now = _look(target, clock, fault)
        if before and now and progressed(before, now):
            moved()
        before = now
        await asyncio.sleep(_PERIOD)


def _look(target: Target, clock: Clock, fault: Callable[[], None]) -> Vitals | None:
    try:
        return take(target.members(), target.log_path, clock.monotonic())
    except Exception:  # noqa: BLE001 - a start must not lose its probes because nobody could list the tree
        fault()
        return None
