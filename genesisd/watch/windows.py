"""Which sweep is due: the windows of a schedule, and when each is to begin. Pure.

A window is what a schedule promises one sweep in: a date where the hour is one, an hour where the minute is one. So a
changed minute or hour brings no second sweep for a window that was done, and a clock that goes back finds it done.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from genesisd.watch.cron import Cron, newest, next_after
from genesisd.watch.kinds import SweepKind

LATE = 120.0
"""Seconds: a busy machine, and the minute after which a wake that never came is made up for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Due:
    """A sweep to be made now.

    Attributes:
        kind: of sweep.
        window: what it stands for; one sweep a kind and window counts.
        slot: when the schedule names it, seconds since the epoch.
        late: seconds past the time it was to begin.
    """

    kind: SweepKind
    window: str
    slot: float
    late: float

    @property
    def is_late(self) -> bool:
        """Nobody was there to begin it, or something else was in the way."""
        return self.late > LATE


def window_of(cron: Cron, slot: datetime) -> str:
    """The window's name, which the ledger keeps."""
    if len(cron.minutes) > 1:
        return f"{slot:%Y-%m-%dT%H:%MZ}"
    return f"{slot:%Y-%m-%dT%HZ}" if len(cron.hours) > 1 else f"{slot:%Y-%m-%d}"


def begins(cron: Cron, kind: SweepKind, slot: datetime, jitter: float, box: str) -> datetime:
    """When ``slot`` is to begin: some seconds later, so that boxes with one schedule do not ask all at once.

    The delay is drawn from the names, so that it is the same after a restart, and never reaches far into the next slot.
    """
    gap = (next_after(cron, slot) - slot).total_seconds()
    most = min(jitter, gap / 2)
    drawn = hashlib.sha256(f"{box}\n{kind}\n{slot:%Y-%m-%dT%H:%M}".encode()).digest()
    return slot + timedelta(seconds=most * int.from_bytes(drawn[:4]) / 2**32)


def due(cron: Cron, kind: SweepKind, at: datetime, jitter: float, box: str) -> Due:
    """The newest window that was to begin by now; whether it is done, the ledger knows.

    Older windows that were missed are gone: one late sweep learns all that they would have.
    """
    slot = newest(cron, at)
    start = begins(cron, kind, slot, jitter, box)
    if start > at:
        slot = newest(cron, slot - timedelta(seconds=1))
        start = begins(cron, kind, slot, jitter, box)
    late = (at - start).total_seconds()
    return Due(kind=kind, window=window_of(cron, slot), slot=slot.timestamp(), late=late)


def next_begin(cron: Cron, kind: SweepKind, at: datetime, jitter: float, box: str) -> datetime:
    """The first time after ``at`` that a window is to begin."""
    slot = newest(cron, at)
    start = begins(cron, kind, slot, jitter, box)
    return start if start > at else begins(cron, kind, next_after(cron, at), jitter, box)


def moment(wall: float) -> datetime:
    """Seconds since the epoch as UTC, whatever zone the machine is set to."""
    return datetime.fromtimestamp(wall, UTC)
