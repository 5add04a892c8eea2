"""The one thread that touches SQLite: jobs go in by a queue, whatever waits together is committed together."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genesisd.store.database import Problem, move_aside, open_or_replace
from genesisd.store.errors import UNSTORABLE, StoreError, is_damage

Work = Callable[[sqlite3.Connection], Any]
Done = Callable[[Any, Exception | None], None]
"""Called in the thread once the work is committed (its result), or has failed (the error)."""
ReportProblem = Callable[[Problem], None]
_BATCH = 512


@dataclass(slots=True)
class _Job:
    work: Work
    done: Done | None = None
    reply: asyncio.Future[Any] | None = None
    loop: asyncio.AbstractEventLoop | None = None
    result: Any = None
    error: Exception | None = None


class Writer:
    """Runs jobs in order. A failing job fails alone; a damaged file is replaced under it.

    Args:
        connection: handed over; only the thread uses it from now on.
        path: the file, or None for a store in memory.
        report: called from the thread with what went wrong.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path | None, report: ReportProblem) -> None:
        self._connection = connection
        self._path = path
        self._report = report
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)
        self._closed = False
        self.on_replaced: list[Work] = []
        """What to write into an empty file that took a damaged one's place."""
        self._thread.start()

    def post(self, work: Work, done: Done) -> None:
        """Do it soon; nobody waits. Never blocks, never raises."""
        if not self._closed:
            self._queue.put(_Job(work, done))

    async def ask(self, work: Work) -> Any:
        """Do it and hand back its result. Raises sqlite3.Error, or StoreError once the store is closed."""
        if self._closed:
            raise StoreError("the store is closed")
        loop = asyncio.get_running_loop()
        reply: asyncio.Future[Any] = loop.create_future()
        self._queue.put(_Job(work, None, reply, loop))
        return await reply

    def close(self) -> None:
        """Finish what is queued, then let go of the file."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            self._thread.join()

    def _run(self) -> None:
        while True:
            jobs, last = self._gather()
            if jobs:
                self._batch(jobs)
                _answer(jobs)
            if last:
                break
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _gather(self) -> tuple[list[_Job], bool]:
        """Wait for a job, then take whatever else is there already."""
        item = self._queue.get()
        jobs: list[_Job] = []
        while item is not None:
            jobs.append(item)
            if len(jobs) >= _BATCH:
                return jobs, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _batch(self, jobs: Sequence[_Job]) -> None:
        together = len(jobs) > 1 and self._together(jobs)
        for job in jobs:
            if not together:
                self._alone(job)
            if job.done is not None:
                job.done(job.result, job.error)

    def _together(self, jobs: Sequence[_Job]) -> bool:
        """One commit for all; False (and nothing written) when any of them failed."""
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                job.result = job.work(self._connection)
            self._connection.execute("COMMIT")
        except Exception:  # noqa: BLE001 (whatever it is, each job meets its own error when it runs alone)
            self._roll_back()
            return False
        return True

    def _alone(self, job: _Job) -> None:
        job.error = self._try(job)
        if isinstance(job.error, sqlite3.Error) and is_damage(job.error) and self._replace(job.error):
            job.error = self._try(job)

    def _try(self, job: _Job) -> Exception | None:
        try:
            job.result = self._transaction(job.work)
        except Exception as error:  # noqa: BLE001 (the thread must outlive any job; the asker gets the error)
            return error
        return None

    def _transaction(self, work: Work) -> Any:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            result = work(self._connection)
            self._connection.execute("COMMIT")
        except Exception:
            self._roll_back()
            raise
        return result

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")

    def _replace(self, error: sqlite3.Error) -> bool:
        """Put an empty file in the damaged one's place; False when that is impossible too."""
        if self._path is None:
            return False
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()
        text = f"{self._path} turned out damaged while in use ({error})"
        try:
            # Aside first: reopening could find nothing wrong (only some pages are) and we would be back here at once.
            aside = move_aside(self._path)
            self._connection, problems = open_or_replace(self._path)
        except (sqlite3.Error, OSError, StoreError) as second:
            self._report(Problem("write", f"{text}, and no new one can be made: {second}", str(self._path)))
            return False
        self._report(Problem("damaged", f"{text}; it is kept as {aside} and a new one took its place", str(aside)))
        for problem in problems:
            self._report(problem)
        for restore in self.on_replaced:
            with contextlib.suppress(sqlite3.Error):
                self._transaction(restore)
        return True


def execute_each(
    connection: sqlite3.Connection, sql: str, rows: Iterable[Sequence[object]], dropped: Callable[[Exception], None]
) -> None:
    """``sql`` for each row; a row that can never be written is reported and left out."""
    for row in rows:
        try:
            connection.execute(sql, row)
        except UNSTORABLE as error:
            dropped(error)


def _answer(jobs: Sequence[_Job]) -> None:
    """Wake each loop once, however many of its tasks wait."""
    by_loop: dict[asyncio.AbstractEventLoop, list[_Job]] = {}
    for job in jobs:
        if job.loop is not None:
            by_loop.setdefault(job.loop, []).append(job)
    for loop, waiting in by_loop.items():
        with contextlib.suppress(RuntimeError):  # the loop closed while we worked: nobody waits any more
            loop.call_soon_threadsafe(_resolve, waiting)


def _resolve(jobs: Sequence[_Job]) -> None:
    for job in jobs:
        if job.reply is None or job.reply.done():
            continue
        if job.error is not None:
            job.reply.set_exception(job.error)
        else:
            job.reply.set_result(job.result)
