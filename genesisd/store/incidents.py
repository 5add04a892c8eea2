"""The incidents of workers, as people read them later: written whole at each change, bounded by number and age."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

from pydantic import TypeAdapter

from genesisd.incidents.model import Happening, Incident, Recorded
from genesisd.store.background import BackgroundRows
from genesisd.store.codec import plain
from genesisd.store.database import Problem
from genesisd.store.writer import Writer, execute_each

_COLUMNS = "id, worker, incarnation, opened, closed, cause, title, text, build, evidence, probes, happenings, recorded"
_PUT = f"INSERT OR REPLACE INTO incidents ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 (a constant above)
_OPEN = f"SELECT {_COLUMNS} FROM incidents WHERE closed IS NULL ORDER BY id"  # noqa: S608 (a constant above)
_LIST = (
    f"SELECT {_COLUMNS} FROM incidents "  # noqa: S608 (a constant above)
    "WHERE (?1 IS NULL OR worker = ?1) AND (NOT ?2 OR closed IS NULL) ORDER BY id DESC LIMIT ?3"
)
_GET = f"SELECT {_COLUMNS} FROM incidents WHERE id = ?"  # noqa: S608 (a constant above)
_PRUNE = "DELETE FROM incidents WHERE closed IS NOT NULL AND (id <= ? OR closed < ?)"
MAX_ROWS = 2000
MAX_AGE = 180 * 86400.0
MAX_LIMIT = 1000
_HAPPENINGS = TypeAdapter(tuple[Happening, ...])
_RECORDED = TypeAdapter(tuple[Recorded, ...])
_PROBES = TypeAdapter(tuple[str, ...])
Row = tuple[Any, ...]
"""As the columns of the table stand."""
Rows = list[Row]
Incidents = list[Incident]


def last_id(connection: sqlite3.Connection) -> int:
    """The newest id that was ever given, also when its row is pruned."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'incidents'").fetchone()
    return 0 if found is None else int(found[0])


class IncidentTable:
    """Takes incidents without waiting; questions see everything that was told before them.

    A row that cannot be read costs only itself. Open incidents are written again where an empty file took a
    damaged one's place. Pruned are closed ones: beyond ``max_rows`` ids, and older than ``max_age`` seconds.
    """

    def __init__(
        self,
        writer: Writer,
        last: int,
        rows: Rows,
        *,
        max_rows: int = MAX_ROWS,
        max_age: float = MAX_AGE,
    ) -> None:
        self._writer = writer
        self._last = last
        self._max_rows = max_rows
        self._max_age = max_age
        self._rows = BackgroundRows(writer, _PUT, self._failed)
        self._kept = {int(row[0]): row for row in rows}
        """Of the writer's thread after ``__init__``: the open ones, to fill an empty file."""
        self.problems: list[Problem] = []
        self.on_error: Callable[[Exception], None] = lambda _: None
        self._loaded: tuple[Incident, ...] = tuple(self._read(rows))
        writer.on_replaced.append(self._write_kept)

    @staticmethod
    def open_rows(connection: sqlite3.Connection) -> Rows:
        """What ``__init__`` takes; read before the writer gets the connection."""
        return connection.execute(_OPEN).fetchall()

    def load(self) -> tuple[Incident, ...]:
        """Those that were open when the store was opened, oldest first."""
        return self._loaded

    def open(self, incident: Incident) -> Incident:
        """Keep a new one; returns it with its id. Never blocks, never raises."""
        self._last += 1
        known = replace(incident, id=self._last)
        bounds = (self._last - self._max_rows, incident.opened - self._max_age)
        self._put(known, bounds)
        return known

    def update(self, incident: Incident) -> None:
        """Keep one that changed. Never blocks, never raises."""
        self._put(incident, None)

    async def get(self, number: int) -> Incident | None:
        """One by its id. Raises StoreReadError when the disk does not answer."""
        rows = await self._ask(_GET, (number,)) if 0 < number <= self._last else []
        return next(iter(self._read(rows)), None)

    async def list(
        self, worker: str | None = None, *, limit: int = 50, open_only: bool = False
    ) -> tuple[Incident, ...]:
        """The newest, newest first. Raises StoreReadError when the disk does not answer."""
        return tuple(self._read(await self._ask(_LIST, (worker, open_only, max(0, min(limit, MAX_LIMIT))))))

    async def open_of(self, worker: str) -> Incident | None:
        """The one that goes on, or None. Raises StoreReadError when the disk does not answer."""
        return next(iter(await self.list(worker, limit=1, open_only=True)), None)

    async def _ask(self, sql: str, bound: tuple[object, ...]) -> Rows:
        rows: Rows = await self._writer.ask(lambda connection: connection.execute(sql, bound).fetchall())
        return rows

    def _put(self, incident: Incident, bounds: tuple[int, float] | None) -> None:
        row = _row(incident)

        def then(connection: sqlite3.Connection) -> None:
            if incident.closed is None:
                self._kept[incident.id] = row
            else:
                self._kept.pop(incident.id, None)
            if bounds is not None:
                connection.execute(_PRUNE, bounds)

        self._rows.put(incident.id, row, then)

    def _failed(self, error: Exception) -> None:
        self.on_error(error)

    def _write_kept(self, connection: sqlite3.Connection) -> None:
        execute_each(connection, _PUT, self._kept.values(), self.on_error)

    def _read(self, rows: Rows) -> Incidents:
        found = []
        for row in rows:
            try:
                found.append(_incident(row))
            except (ValueError, TypeError) as error:
                text = f"stored incident {row[0]} of worker {row[1]} is unreadable ({error})"
                self.problems.append(Problem("row", text, str(row[0])))
        return found


def _row(one: Incident) -> Row:
    words = [plain(text) for text in (one.cause, one.title, one.text)]
    lists = [_json([asdict(item) for item in items]) for items in (one.happenings, one.recorded)]
    build = None if one.build is None else plain(one.build)
    first = (one.id, plain(one.worker), one.incarnation, one.opened, one.closed)
    return (*first, *words, build, one.evidence, _json(one.probes), *lists)


def _incident(row: Row) -> Incident:
    number, worker, incarnation, opened, closed, cause, title, text, build, evidence, probes, happenings, recorded = row
    return Incident(
        id=number,
        worker=worker,
        incarnation=incarnation,
        opened=opened,
        closed=closed,
        cause=cause,
        title=title,
        text=text,
        build=build,
        evidence=evidence,
        probes=_PROBES.validate_json(probes),
        happenings=_HAPPENINGS.validate_json(happenings),
        recorded=_RECORDED.validate_json(recorded),
    )


def _json(value: object) -> str:
    """An odd value is told by its looks: an incident that is kept in part is worth more than none."""
    try:
        return plain(json.dumps(value, default=str, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):  # a key that is no text, a circle
        return "[]"
