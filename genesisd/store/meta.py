"""Small facts that outlive the daemon, by key: JSON values."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

from genesisd.store.writer import Writer

StoreReadError = sqlite3.Error
"""What these calls raise, for callers that may not know of SQL."""


class Meta:
    """Raises StoreReadError when the disk does not answer, unlike the other tables: callers decide."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def get(self, key: str, default: Any = None) -> Any:
        """The value, or ``default`` where there is none."""
        found = await self._writer.ask(
            lambda connection: connection.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        )
        return default if found is None else json.loads(found[0])

    async def set(self, key: str, value: Any) -> None:
        """Keep it; None removes the key."""
        text = json.dumps(value)

        def work(connection: sqlite3.Connection) -> None:
            if value is None:
                connection.execute("DELETE FROM meta WHERE key = ?", (key,))
            else:
                connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", (key, text))

        await self._writer.ask(work)
