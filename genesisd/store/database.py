"""The SQLite file: opened, checked, migrated; a damaged one is moved aside, never repaired in place."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from genesisd.store import schema
from genesisd.store.errors import StoreError, StoreTooNewError, is_damage, is_no_room

_TABLES = {
    "workers": "name, phase, wanted, incarnation, schema, state, boot_id, saved_mono, saved_wall",
    "journal": "id, at, kind, worker, incarnation, fields",
    "meta": "key, value",
    "incidents": "id, worker, incarnation, opened, closed, cause, title, text, build, evidence, probes, happenings, recorded",
    "probe_history": "id, at, worker, kind, stage, verdict, summary, incarnation, seconds, tokens, evidence",
}

_SMALLEST = 512
"""Bytes of the smallest page that SQLite knows."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that the store got over and that people should know.

    Attributes:
        code: ``damaged`` (moved aside), ``memory`` (no room: nothing is kept), ``write`` or ``row``.
        text: one sentence.
        path: the file that it speaks of.
    """

    code: str
    text: str
    path: str


class _DamagedError(Exception):
    """What was found wrong with the file."""


def connect(path: Path | str, *, read_only: bool = False) -> sqlite3.Connection:
    """A connection in autocommit mode, to be used from any one thread at a time."""
    if path == ":memory:":
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    mode = "ro" if read_only else "rwc"
    uri = f"{Path(path).absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=5.0)


def _check(connection: sqlite3.Connection) -> None:
    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _DamagedError(str(found).splitlines()[-1])


def _check_tables(connection: sqlite3.Connection) -> None:
    for table, columns in _TABLES.items():
        connection.execute(f"SELECT {columns} FROM {table} LIMIT 1").fetchone()  # noqa: S608 (both are constants above)


def _check_size(path: Path, size: int) -> None:
    """What SQLite forgives without a word about what was lost: a stump, and a last page that is cut."""
    if size < _SMALLEST:
        raise _DamagedError(f"it has only {size} bytes")
    with path.open("rb") as file:
        page = int.from_bytes(file.read(18)[16:], "big")
    wal = path.with_name(path.name + "-wal")
    # A log beside the file repairs a page that a full disk cut short.
    if page > 1 and size % page and not (wal.exists() and wal.stat().st_size):
        raise _DamagedError(f"its last page of {page} bytes has only {size % page}")


def _refuse_newer(path: Path) -> None:
    size = path.stat().st_size if path.exists() else 0
    if size == 0:
        return
    _check_size(path, size)
    connection = connect(path, read_only=True)
    try:
        schema.refuse_newer(connection, path)
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA cache_size=-1024")
    _check(connection)
    schema.migrate(connection)
    _check_tables(connection)


def _open(path: Path) -> sqlite3.Connection:
    """Raises _DamagedError, StoreTooNewError or sqlite3.Error."""
    connection: sqlite3.Connection | None = None
    try:
        _refuse_newer(path)
        connection = connect(path)
        _prepare(connection)
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.Error) and is_damage(error):
            raise _DamagedError(str(error)) from error
        if isinstance(error, sqlite3.OperationalError) and "no such" in str(error):
            raise _DamagedError(str(error)) from error
        raise
    return connection


def move_aside(path: Path) -> Path:
    """Rename the file and its WAL out of the way; returns the new name."""
    number = 1
    while (aside := path.with_name(f"{path.name}.damaged.{number}")).exists():
        number += 1
    for suffix in ("-wal", "-shm"):
        side = path.with_name(path.name + suffix)
        if side.exists():
            side.rename(aside.with_name(aside.name + suffix))
    if path.exists():
        path.rename(aside)
    return aside


def open_or_replace(path: Path) -> tuple[sqlite3.Connection, list[Problem]]:
    """Open the store's file, whatever state it is in.

    A damaged file is moved aside and an empty one takes its place: workers are adopted from their shims, so
    history is lost and nothing else. Where the disk has no room the store lives in memory.

    Raises:
        StoreTooNewError: a newer genesisd wrote it; nothing was touched.
        StoreError: the folder is not ours to write.
    """
    try:
        return _open(path), []
    except StoreTooNewError:
        raise
    except _DamagedError as error:
        return _replace(path, str(error))
    except (sqlite3.Error, OSError) as error:
        return _without_file(path, error)


def _replace(path: Path, found: str) -> tuple[sqlite3.Connection, list[Problem]]:
    try:
        aside = move_aside(path)
        text = f"{path} was damaged ({found}); it is kept as {aside} and the store starts empty"
        return _open(path), [Problem("damaged", text, str(aside))]
    except (sqlite3.Error, OSError, _DamagedError) as error:
        return _without_file(path, error)


def _without_file(path: Path, error: Exception) -> tuple[sqlite3.Connection, list[Problem]]:
    if not is_no_room(error) or not os.access(path.parent, os.W_OK):
        raise StoreError(
            f"cannot open {path}: {error}",
            hint="the folder and the file must belong to the user that runs genesisd",
            path=str(path),
        ) from error
    connection = connect(":memory:")
    schema.migrate(connection)
    text = f"{path} cannot be written ({error}); state and journal are kept in memory only until the next start"
    return connection, [Problem("memory", text, str(path))]
