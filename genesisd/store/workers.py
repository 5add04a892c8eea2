"""The states of workers: implements ``supervisor.ports.WorkerStore``."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from genesisd.clock import Clock
from genesisd.identity import boot_id
from genesisd.store import codec
from genesisd.store.codec import Moment
from genesisd.store.database import Problem
from genesisd.store.errors import StoreError
from genesisd.store.writer import Writer, execute_each
from genesisd.supervisor.model import WorkerState

_SAVE = """
INSERT INTO workers (name, phase, wanted, incarnation, schema, state, boot_id, saved_mono, saved_wall)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET phase=excluded.phase, wanted=excluded.wanted, incarnation=excluded.incarnation,
  schema=excluded.schema, state=excluded.state, boot_id=excluded.boot_id, saved_mono=excluded.saved_mono,
  saved_wall=excluded.saved_wall
"""
_LOAD = (
    "SELECT name, phase, wanted, incarnation, schema, state, boot_id, saved_mono, saved_wall FROM workers ORDER BY name"
)
_FORGET = "DELETE FROM workers WHERE name = ?"
Row = tuple[str, str, int, int, int, str, str, float, float]
"""As the columns of the table stand."""


class WorkerTable:
    """Saves states and never raises for the disk: a daemon that cannot write still has to supervise.

    A state that could not be written is kept and written with the next save of any worker.
    """

    def __init__(self, writer: Writer, rows: list[Row], clock: Clock) -> None:
        self._writer = writer
        self._clock = clock
        self._boot = boot_id()
        self._loaded: dict[str, WorkerState] = {}
        self._unsaved: dict[str, Row] = {}
        self._kept: dict[str, Row] = {}
        """Of the writer's thread: the newest rows, to fill a file that takes a damaged one's place."""
        self.problems: list[Problem] = []
        self.on_error: Callable[[Exception], None] = lambda _: None
        for row in rows:
            self._read(row)
        writer.on_replaced.append(self._write_kept)

    @staticmethod
    def rows(connection: sqlite3.Connection) -> list[Row]:
        """What ``__init__`` takes; read before the writer gets the connection."""
        return connection.execute(_LOAD).fetchall()

    def load(self) -> dict[str, WorkerState]:
        """The states as they were when the store was opened, on this boot's clock."""
        return dict(self._loaded)

    async def save(self, worker: str, state: WorkerState) -> None:
        """Written when this returns, or reported as a store error."""
        self._unsaved[worker] = self._row(worker, state)
        rows = tuple(self._unsaved.values())

        def work(connection: sqlite3.Connection) -> None:
            self._kept.update((row[0], row) for row in rows)
            execute_each(connection, _SAVE, rows, self.on_error)

        if await self._ask(work):
            for row in rows:
                if self._unsaved.get(row[0]) is row:
                    del self._unsaved[row[0]]

    async def forget(self, worker: str) -> None:
        """The worker is gone from the configuration."""
        self._unsaved.pop(worker, None)

        def work(connection: sqlite3.Connection) -> None:
            self._kept.pop(worker, None)
            connection.execute(_FORGET, (worker,))

        await self._ask(work)

    async def _ask(self, work: Callable[[sqlite3.Connection], None]) -> bool:
        try:
            await self._writer.ask(work)
        except (sqlite3.Error, StoreError) as error:
            self.on_error(error)
            return False
        return True

    def _write_kept(self, connection: sqlite3.Connection) -> None:
        execute_each(connection, _SAVE, self._kept.values(), self.on_error)

    def _row(self, worker: str, state: WorkerState) -> Row:
        return (
            worker,
            state.phase.value,
            int(state.wanted),
            state.incarnation,
            codec.SCHEMA,
            codec.encode(state),
            self._boot,
            self._clock.monotonic(),
            self._clock.wall(),
        )

    def _read(self, row: Row) -> None:
        name, _, _, _, schema, text, boot, mono, wall = row
        now = Moment(self._boot, self._clock.monotonic(), self._clock.wall())
        try:
            state = codec.rebase(codec.decode(text, schema), Moment(boot, mono, wall), now)
        except (ValueError, TypeError) as error:
            self.problems.append(Problem("row", f"the stored state of worker {name} is unreadable ({error})", name))
            return
        self._loaded[name] = state
        self._kept[name] = row
