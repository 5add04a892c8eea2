"""The append-only journal of events, bounded by rows and by age."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genesisd.store.codec import plain
from genesisd.store.writer import Writer, execute_each

_APPEND = "INSERT OR IGNORE INTO journal (id, at, kind, worker, incarnation, fields) VALUES (?, ?, ?, ?, ?, ?)"
_PRUNE = "DELETE FROM journal WHERE id <= ? OR at < ?"
_PRUNE_EVERY = 256
_BACKLOG = 2048
MAX_LIMIT = 10_000
MAX_ROWS = 100_000
MAX_AGE = 30 * 86400.0
Row = tuple[int, float, str, str | None, int | None, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """One event. ``id`` grows and is never used twice; ``at`` is wall time in seconds."""

    id: int
    at: float
    kind: str
    worker: str | None
    incarnation: int | None
    fields: Mapping[str, Any]


def _json(fields: Mapping[str, Any]) -> str:
    """Never raises: an event with an odd field is still worth more than none."""
    try:
        return json.dumps(fields, default=str, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        return json.dumps({"unserialisable": repr(fields)[:1000]})


def last_id(connection: sqlite3.Connection) -> int:
    """The newest id that was ever given, also when its row is pruned."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'journal'").fetchone()
    return 0 if found is None else int(found[0])


class Journal:
    """Appends without waiting; queries see everything that was appended before them.

    Args:
        max_rows: older rows are removed.
        max_age: seconds; older rows are removed.
    """

    def __init__(self, writer: Writer, last: int, *, max_rows: int = MAX_ROWS, max_age: float = MAX_AGE) -> None:
        self._writer = writer
        self._last = last
        self._max_rows = max_rows
        self._max_age = max_age
        self._failed: dict[int, Row] = {}
        """Of the writer's thread: rows to try again. Bounded: a full disk costs the oldest, not the memory."""
        self._retrying = False
        """Of the writer's thread: a job of the present batch carries the failed rows already."""
        self.on_error: Callable[[Exception], None] = lambda _: None

    @property
    def last(self) -> int:
        """The newest id."""
        return self._last

    def append(
        self, at: float, kind: str, worker: str | None, incarnation: int | None, fields: Mapping[str, Any]
    ) -> Entry:
        """Queue an event and return it with its id. Never blocks, never raises."""
        self._last += 1
        row = (self._last, at, plain(kind), None if worker is None else plain(worker), incarnation, _json(fields))
        prune = self._prune_due(at)

        def work(connection: sqlite3.Connection) -> tuple[Row, ...]:
            return self._write(connection, row, prune)

        self._writer.post(work, lambda written, error: self._written(row, written, error))
        return Entry(self._last, at, kind, worker, incarnation, fields)

    def _prune_due(self, at: float) -> tuple[int, float] | None:
        if self._last % _PRUNE_EVERY:
            return None
        return self._last - self._max_rows, at - self._max_age

    def _write(self, connection: sqlite3.Connection, row: Row, prune: tuple[int, float] | None) -> tuple[Row, ...]:
        rows = (row,) if self._retrying else (*self._failed.values(), row)
        self._retrying = True
        execute_each(connection, _APPEND, rows, self.on_error)
        if prune is not None:
            connection.execute(_PRUNE, prune)
        return rows

    def _written(self, row: Row, written: tuple[Row, ...] | None, error: Exception | None) -> None:
        self._retrying = False
        for one in written or ():
            self._failed.pop(one[0], None)
        if error is not None:
            self._failed[row[0]] = row
            while len(self._failed) > _BACKLOG:
                del self._failed[next(iter(self._failed))]
            self.on_error(error)

    async def query(
        self, *, since: int | None = None, worker: str | None = None, limit: int = 100, from_time: float = 0.0
    ) -> tuple[Entry, ...]:
        """Oldest first: the first ``limit`` events after id ``since``, or the last ``limit`` of all.

        Events before wall time ``from_time`` are left out.

        Raises sqlite3.Error when the disk does not answer.
        """
        order = "ASC" if since is not None else "DESC"
        sql = (
            "SELECT id, at, kind, worker, incarnation, fields FROM journal "  # noqa: S608 (order is one of two words)
            f"WHERE id > ? AND at >= ? AND (? IS NULL OR worker = ?) ORDER BY id {order} LIMIT ?"
        )
        bound = (since if since is not None else 0, from_time, worker, worker, max(0, min(limit, MAX_LIMIT)))
        rows = await self._writer.ask(lambda connection: connection.execute(sql, bound).fetchall())
        entries = [Entry(id_, at, kind, name, life, json.loads(text)) for id_, at, kind, name, life, text in rows]
        return tuple(entries if since is not None else reversed(entries))
