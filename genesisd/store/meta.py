"""Small facts that outlive the daemon, by key: JSON values."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from genesisd.store.database import connect
from genesisd.store.writer import Writer

StoreReadError = sqlite3.Error
"""What these calls raise, for callers that may not know of SQL."""


class Meta:
    """Raises StoreReadError when the disk does not answer, unlike the other tables: callers decide."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def get(self, key: str, default: Any = None) -> Any:
        """The value, or ``default`` where there is none, or none that can be read: a daemon must start all the same."""
        found = await self._writer.ask(
            lambda connection: connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        )
        try:
            return default if found is None else json.loads(found[0])
        except (ValueError, TypeError, RecursionError):
            return default

    async def set(self, key: str, value: Any) -> None:
        """Keep it; None removes the key."""
        text = json.dumps(value)

        def work(connection: sqlite3.Connection) -> None:
            if value is None:
                connection.execute("DELETE FROM meta WHERE key = ?", (key,))
            else:
                connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, text))

        await self._writer.ask(work)


def peek(store: Path, prefix: str) -> Mapping[str, Any]:
    """What the file at ``store`` has under keys that begin with ``prefix``, by the rest of the key.

    For programs beside the daemon, and while none runs. Blocks. Raises StoreReadError.
    """
    if not store.exists():
        return {}
    with closing(connect(store, read_only=True)) as connection:
        query = "SELECT key, value FROM meta WHERE substr(key, 1, ?) = ?"
        rows = connection.execute(query, (len(prefix), prefix)).fetchall()
    return {key.removeprefix(prefix): json.loads(value) for key, value in rows}
