"""How a run ends: with its workers, or without them."""

from __future__ import annotations

import asyncio

from genesisd.errors import ConflictError


class Ending(asyncio.Event):
    """Set once the daemon was told to end.

    Attributes:
        drain: whether the workers are stopped first; else they live on.
    """

    def __init__(self) -> None:
        super().__init__()
        self.drain = False

    def begin(self, *, drain: bool) -> None:
        """End. Whoever asks for the workers to be stopped is not overruled by a later word."""
        self.drain = self.drain or drain
        self.set()

    def refuse_orders(self) -> None:
        """Raises ConflictError while the daemon ends."""
        if self.is_set():
            raise ConflictError("the daemon is shutting down", hint="start it again first")
