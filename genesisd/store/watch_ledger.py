"""Which sweeps were done. A window that was done is never done again, also over a restart."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from genesisd.store.codec import plain
from genesisd.store.writer import Writer

MAX_ROWS = 2000

_DONE = "SELECT 1 FROM watch_sweeps WHERE kind = ? AND window = ? AND outcome IN ('done', 'partial')"
_HELD = (
    "SELECT 1 FROM watch_sweeps WHERE kind = ?1 AND window = ?2 AND finished IS NULL "
    # A lease that ends further off than leases last was written before the clock went back: nobody holds it.
    "AND lease > ?3 AND lease <= ?3 + ?4"
)
_BEGIN = "INSERT INTO watch_sweeps (kind, window, owner, started, lease) VALUES (?, ?, ?, ?, ?)"
_LOST = "UPDATE watch_sweeps SET finished = ?, outcome = 'left' WHERE kind = ? AND window = ? AND finished IS NULL"
_LEAVE = "UPDATE watch_sweeps SET finished = ?, outcome = 'left' WHERE finished IS NULL"
_RENEW = "UPDATE watch_sweeps SET lease = ? WHERE id = ? AND finished IS NULL"
_FINISH = "UPDATE watch_sweeps SET finished = ?, outcome = ?, summary = ? WHERE id = ? AND finished IS NULL"
_LAST = (
    "SELECT window, finished FROM watch_sweeps "
    "WHERE kind = ? AND outcome IN ('done', 'partial') ORDER BY id DESC LIMIT 1"
)
_COLUMNS = "id, kind, window, owner, started, finished, outcome, summary"
_LIST = f"SELECT {_COLUMNS} FROM watch_sweeps WHERE (?1 IS NULL OR kind = ?1) ORDER BY id DESC LIMIT ?2"  # noqa: S608 (a constant above)
_PRUNE = "DELETE FROM watch_sweeps WHERE id <= ? AND finished IS NOT NULL"


@dataclass(frozen=True, slots=True)
class SweepRecord:
    """One sweep. Wall times.

    ``outcome`` is None while it goes on. ``done`` and ``partial`` settle a window, one that ``failed`` may be tried
    again, and ``left`` is of a daemon that went.
    """

    id: int
    kind: str
    window: str
    owner: str
    started: float
    finished: float | None
    outcome: str | None
    summary: Mapping[str, Any] = field(default_factory=dict)


class WatchLedger:
    """Implements ``watch.ports.Ledger``. Raises StoreReadError when the disk does not answer."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def begin(self, kind: str, window: str, owner: str, now: float, *, lease: float) -> int | None:
        """Claim a window; the sweep's id, or None where it is done or somebody's lease on it holds."""

        def work(connection: sqlite3.Connection) -> int | None:
            done = connection.execute(_DONE, (kind, window)).fetchone()
            if done or connection.execute(_HELD, (kind, window, now, lease)).fetchone():
                return None
            connection.execute(_LOST, (now, kind, window))
            given = connection.execute(_BEGIN, (kind, window, owner, now, now + lease)).lastrowid
            connection.execute(_PRUNE, ((given or 0) - MAX_ROWS,))
            return given

        found: int | None = await self._writer.ask(work)
        return found

    async def renew(self, sweep: int, now: float, *, lease: float) -> bool:
        """Hold on to it; False where it was lost."""
        held: bool = await self._writer.ask(lambda c: c.execute(_RENEW, (now + lease, sweep)).rowcount == 1)
        return held

    async def finish(self, sweep: int, now: float, *, outcome: str, summary: Mapping[str, Any]) -> None:
        """It is over; the first word on it counts."""
        row = (now, outcome, plain(json.dumps(dict(summary), default=str)), sweep)
        await self._writer.ask(lambda connection: connection.execute(_FINISH, row))

    async def leave(self, now: float) -> int:
        """Nobody is at work: what had begun is given up. For a daemon that starts, since it alone has the store."""
        left: int = await self._writer.ask(lambda connection: connection.execute(_LEAVE, (now,)).rowcount)
        return left

    async def last(self, kind: str) -> tuple[str, float] | None:
        """Window and time of the newest sweep of ``kind`` that counts."""
        found = await self._writer.ask(lambda connection: connection.execute(_LAST, (kind,)).fetchone())
        return None if found is None else (found[0], found[1])

    async def list(self, kind: str | None = None, *, limit: int = 50) -> tuple[SweepRecord, ...]:
        """The newest, newest first."""
        rows = await self._writer.ask(lambda c: c.execute(_LIST, (kind, max(0, min(limit, MAX_ROWS)))).fetchall())
        return tuple(_record(row) for row in rows)


def _record(row: tuple[Any, ...]) -> SweepRecord:
    number, kind, window, owner, started, finished, outcome, summary = row
    return SweepRecord(number, kind, window, owner, started, finished, outcome, _object(summary))


def _object(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
