"""Rows that are written in the background: nobody waits, and what fails is tried again with the next."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence

from genesisd.store.writer import Work, Writer, execute_each

BACKLOG = 512
Row = Sequence[object]


class BackgroundRows:
    """Writes rows by key; a newer row of a key takes the place of one that could not be written yet.

    Args:
        writer: the store's thread.
        sql: a statement that puts one row, and puts it again harmlessly.
        report: told of each failure, from the thread.
    """

    def __init__(self, writer: Writer, sql: str, report: Callable[[Exception], None]) -> None:
        self._writer = writer
        self._sql = sql
        self._report = report
        self._failed: dict[int, Row] = {}
        """Of the writer's thread. Bounded: a full disk costs the oldest, not the memory."""
        self._retrying = False
        """Of the writer's thread: a job of the present batch carries the failed rows already."""

    def put(self, key: int, row: Row, then: Work | None = None) -> None:
        """Queue it, and ``then`` within the same commit. Never blocks, never raises."""

        def work(connection: sqlite3.Connection) -> dict[int, Row]:
            rows = {key: row} if self._retrying else {**self._failed, key: row}
            self._retrying = True
            execute_each(connection, self._sql, rows.values(), self._report)
            if then is not None:
                then(connection)
            return rows

        self._writer.post(work, lambda written, error: self._written(key, row, written, error))

    def _written(self, key: int, row: Row, written: dict[int, Row] | None, error: Exception | None) -> None:
        self._retrying = False
        for one, done in (written or {}).items():
            if self._failed.get(one) is done:
                del self._failed[one]
        if error is None:
            self._failed.pop(key, None)  # an older form of the same row: it would undo this one
            return
        self._failed.pop(key, None)
        self._failed[key] = row
        while len(self._failed) > BACKLOG:
            del self._failed[next(iter(self._failed))]
        self._report(error)
