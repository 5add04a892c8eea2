"""Small facts for the next daemon, by a store whose silence costs the note and nothing else.

The store itself tells of its troubles; who keeps a note here goes on with what is in memory.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from genesisd.store.meta import Meta, StoreReadError


class Notes:
    """Values of the store's ``meta``, read and written without ever raising for the disk."""

    def __init__(self, meta: Meta) -> None:
        self._meta = meta
        self._writes: set[asyncio.Task[None]] = set()

    async def get(self, key: str, default: Any = None) -> Any:
        """The value, or ``default`` where there is none or the disk does not answer."""
        try:
            return await self._meta.get(key, default)
        except StoreReadError:
            return default

    async def set(self, key: str, value: Any) -> None:
        """Keep it before anything else is done; None removes the key."""
        with contextlib.suppress(StoreReadError):
            await self._meta.set(key, value)

    def put(self, key: str, value: Any) -> None:
        """Keep it in the background; the order of calls is that on the disk."""
        task = asyncio.create_task(self.set(key, value))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def close(self) -> None:
        """Wait for what is being written; more may be put afterwards."""
        await asyncio.gather(*self._writes, return_exceptions=True)
