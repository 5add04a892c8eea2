"""The store: one SQLite file, one thread, and the tables of each feature behind a class of its own."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Self

from genesisd.clock import Clock, SystemClock
from genesisd.store import history as history_table
from genesisd.store import incidents as incident_table
from genesisd.store import journal as journal_table
from genesisd.store.database import Problem, open_or_replace
from genesisd.store.history import ProbeHistory
from genesisd.store.incidents import IncidentTable
from genesisd.store.journal import Journal
from genesisd.store.lock import StoreLock
from genesisd.store.meta import Meta
from genesisd.store.watch_decisions import WatchDecisions
from genesisd.store.watch_facts import WatchFacts
from genesisd.store.watch_ledger import WatchLedger
from genesisd.store.workers import WorkerTable
from genesisd.store.writer import Writer

_REPEAT = 60.0
"""Seconds in which the same trouble is told once: a full disk fails every write."""


class Store:
    """Open one with ``Store.open``; close it last of all, since ``close`` waits for what is queued.

    Attributes:
        workers: implements ``WorkerStore``.
        journal: the events.
        meta: small facts by key.
        incidents: what went wrong with workers.
        history: what probes said.
        watch_ledger: which sweeps of upstream were done.
        watch_facts: what upstream said.
        watch_decisions: what follows from it, and what people answered.
        problems: what ``open`` had to get over; emit each as ``store_error``.
        errors: failed writes so far.
        on_problem: set it to be told of later ones, of each sort once a minute. It is called from any thread.
        on_error_count: set it to be told ``errors`` whenever it grows. It is called from any thread.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        lock: StoreLock,
        clock: Clock,
        *,
        max_rows: int,
        max_age: float,
    ) -> None:
        rows = WorkerTable.rows(connection)
        last = journal_table.last_id(connection)
        runs = history_table.last_id(connection)
        incidents = incident_table.last_id(connection), IncidentTable.open_rows(connection)
        in_memory = connection.execute("PRAGMA database_list").fetchone()[2] == ""
        self._lock = lock
        self._clock = clock
        self._path = path
        self._told: dict[str, float] = {}
        self._counting = threading.Lock()
        self.errors = 0
        self.problems: list[Problem] = []
        self.on_problem: Callable[[Problem], None] = lambda _: None
        self.on_error_count: Callable[[int], None] = lambda _: None
        self._writer = Writer(connection, None if in_memory else path, self._tell)
        self.workers = WorkerTable(self._writer, rows, clock)
        self.journal = Journal(self._writer, last, max_rows=max_rows, max_age=max_age)
        self.meta = Meta(self._writer)
        self.watch_ledger = WatchLedger(self._writer)
        self.watch_facts = WatchFacts(self._writer, clock)
        self.watch_decisions = WatchDecisions(self._writer)
        self.incidents = IncidentTable(self._writer, *incidents)
        self.history = ProbeHistory(self._writer, runs)
        self.workers.on_error = self.journal.on_error = self._failed
        self.incidents.on_error = self.history.on_error = self._failed
        self.problems.extend((*self.workers.problems, *self.incidents.problems))

    @classmethod
    def open(
        cls,
        path: Path,
        clock: Clock | None = None,
        *,
        max_rows: int = journal_table.MAX_ROWS,
        max_age: float = journal_table.MAX_AGE,
    ) -> Self:
        """Open or make the store at ``path``, whose folder must exist; the bounds are those of the journal.

        Raises:
            StoreLockedError: another daemon has it open.
            StoreTooNewError: a newer genesisd wrote it; nothing was touched.
            StoreError: it is not ours to write.
        """
        lock = StoreLock(path.with_name(path.name + ".lock"))
        try:
            connection, problems = open_or_replace(path)
            store = cls(connection, path, lock, clock or SystemClock(), max_rows=max_rows, max_age=max_age)
        except BaseException:
            lock.release()
            raise
        store.problems[:0] = problems
        return store

    @property
    def ok(self) -> bool:
        """Whether what is told to the store is kept on the disk: no write failed within the last minute."""
        return not any(self._clock.monotonic() - at < _REPEAT for at in self._told.values())

    def close(self) -> None:
        """Write what is queued and let go of the file."""
        self._writer.close()
        self._lock.release()

    def _failed(self, error: Exception) -> None:
        self._tell(Problem("write", f"cannot write to {self._path}: {error}", str(self._path)))

    def _tell(self, problem: Problem) -> None:
        with self._counting:
            self.errors += 1
            self.on_error_count(self.errors)
            now = self._clock.monotonic()
            if now - self._told.get(problem.code, -_REPEAT) < _REPEAT:
                return
            self._told[problem.code] = now
        self.on_problem(problem)
