"""Numbered migrations: ``migrations/0001_*.sql`` brings ``user_version`` 0 to 1, and so on."""

from __future__ import annotations

import sqlite3
from functools import cache
from pathlib import Path

from genesisd.store.errors import StoreTooNewError

APPLICATION_ID = 0x47454E53
"""'GENS' in the file's header: tells our file from another program's."""


@cache
def migrations() -> tuple[tuple[int, str], ...]:
    """Every migration as (number, SQL), in order."""
    files = sorted((Path(__file__).parent / "migrations").glob("[0-9][0-9][0-9][0-9]_*.sql"))
    return tuple((int(file.name[:4]), file.read_text(encoding="utf-8")) for file in files)


def newest() -> int:
    """The schema version that this genesisd writes."""
    return migrations()[-1][0]


def version(connection: sqlite3.Connection) -> int:
    """The schema version of an open file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def refuse_newer(connection: sqlite3.Connection, path: Path) -> None:
    """Raises StoreTooNewError when a newer genesisd wrote the file."""
    found = version(connection)
    if found > newest():
        raise StoreTooNewError(
            f"{path} has schema version {found}, but this genesisd knows versions up to {newest()}",
            hint="install the genesisd that wrote it, or move the file away to start with an empty store",
            path=str(path),
            found=found,
            known=newest(),
        )


def migrate(connection: sqlite3.Connection) -> None:
    """Apply what is missing, one transaction a step: a crash between two steps is harmless."""
    for number, sql in migrations():
        if number <= version(connection):
            continue
        try:
            connection.executescript(
                f"BEGIN IMMEDIATE;\n{sql}\nPRAGMA application_id={APPLICATION_ID};\nPRAGMA user_version={number};\nCOMMIT;"
            )
        except sqlite3.Error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
