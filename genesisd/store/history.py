"""What probes said, over time: bounded for each kind of each worker, and by age."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genesisd.store.background import BackgroundRows
from genesisd.store.codec import plain
from genesisd.store.writer import Writer

_COLUMNS = "at, worker, kind, stage, verdict, summary, incarnation, seconds, tokens, evidence"
_PUT = f"INSERT OR IGNORE INTO probe_history (id, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608 (a constant above)
_LIST = (
    f"SELECT {_COLUMNS} FROM probe_history "  # noqa: S608 (a constant above)
    "WHERE worker = ?1 AND (?2 IS NULL OR kind = ?2) ORDER BY id DESC LIMIT ?3"
)
_PRUNE = """
DELETE FROM probe_history WHERE worker = ?1 AND kind = ?2 AND id <=
  (SELECT id FROM probe_history WHERE worker = ?1 AND kind = ?2 ORDER BY id DESC LIMIT 1 OFFSET ?3)
"""
_PRUNE_OLD = "DELETE FROM probe_history WHERE at < ?"
_FORGET = "DELETE FROM probe_history WHERE worker = ?"
_PRUNE_EVERY = 64
MAX_ROWS = 500
MAX_AGE = 30 * 86400.0
MAX_LIMIT = 5000


@dataclass(frozen=True, slots=True)
class ProbeRun:
    """One ask; ``at`` is wall time, ``seconds`` how long it took, ``tokens`` what it cost."""

    at: float
    worker: str
    kind: str
    stage: str
    verdict: str
    summary: str
    incarnation: int
    seconds: float = 0.0
    tokens: int = 0
    evidence: Mapping[str, Any] = field(default_factory=dict)


def last_id(connection: sqlite3.Connection) -> int:
    """The newest id that was ever given, also when its row is pruned."""
    found = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'probe_history'").fetchone()
    return 0 if found is None else int(found[0])


class ProbeHistory:
    """Appends without waiting; questions see everything that was appended before them.

    Args:
        writer: the store's thread.
        last: newest id so far.
        max_rows: of each kind of each worker; older rows are removed now and then.
        max_age: seconds; older rows are removed.
    """

    def __init__(self, writer: Writer, last: int, *, max_rows: int = MAX_ROWS, max_age: float = MAX_AGE) -> None:
        self._writer = writer
        self._last = last
        self._max_rows = max_rows
        self._max_age = max_age
        self._appended: dict[tuple[str, str], int] = {}
        self._rows = BackgroundRows(writer, _PUT, self._failed)
        self.on_error: Callable[[Exception], None] = lambda _: None

    def append(self, run: ProbeRun) -> None:
        """Queue one. Never blocks, never raises."""
        self._last += 1
        self._rows.put(self._last, (self._last, *_row(run)), self._prune_due(run))

    async def query(self, worker: str, kind: str | None = None, *, limit: int = 100) -> tuple[ProbeRun, ...]:
        """The newest, newest first. Raises StoreReadError when the disk does not answer."""
        bound = (worker, kind, max(0, min(limit, MAX_LIMIT)))
        rows = await self._writer.ask(lambda connection: connection.execute(_LIST, bound).fetchall())
        return tuple(_run(row) for row in rows)

    async def forget(self, worker: str) -> None:
        """The worker is gone from the configuration. Raises StoreReadError when the disk does not answer."""
        self._appended = {key: count for key, count in self._appended.items() if key[0] != worker}

        def work(connection: sqlite3.Connection) -> None:
            connection.execute(_FORGET, (worker,))

        await self._writer.ask(work)

    def _failed(self, error: Exception) -> None:
        self.on_error(error)

    def _prune_due(self, run: ProbeRun) -> Callable[[sqlite3.Connection], None] | None:
        """The first of a kind in this daemon's life prunes too: daemons that live shortly must not add up."""
        key = (run.worker, run.kind)
        count = self._appended.get(key, 0)
        self._appended[key] = count + 1
        if count % _PRUNE_EVERY:
            return None

        def prune(connection: sqlite3.Connection) -> None:
            connection.execute(_PRUNE, (*key, self._max_rows))
            connection.execute(_PRUNE_OLD, (run.at - self._max_age,))

        return prune


def _row(run: ProbeRun) -> tuple[object, ...]:
    words = (plain(text) for text in (run.worker, run.kind, run.stage, run.verdict, run.summary))
    return (run.at, *words, run.incarnation, run.seconds, run.tokens, _json(run.evidence))


def _run(row: Sequence[Any]) -> ProbeRun:
    *rest, evidence = row
    return ProbeRun(*rest, evidence=json.loads(evidence))  # type: ignore[misc]  # the columns are its fields in order


def _json(evidence: Mapping[str, Any]) -> str:
    """Never raises: an answer with odd evidence is still worth more than none."""
    try:
        return plain(json.dumps(dict(evidence), default=str, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError):
        return json.dumps({"unserialisable": repr(evidence)[:1000]})
