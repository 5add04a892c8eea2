"""The connection to the engine. Each client connection has its own, so an abort on one side reaches the other."""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from genesisd.front.decide import Open

BUFFER = 256 << 10
"""Bytes that may wait in either direction before the sender is paused."""


class Owner(Protocol):
    """The client connection behind."""

    def engine_data(self, data: bytes) -> None: ...
    def engine_ended(self, *, clean: bool) -> None: ...
    def engine_flow(self) -> None:
        """Whether ``full`` has changed."""
        ...


class Upstream(asyncio.Protocol):
    """Passes everything to its owner; knows nothing of HTTP."""

    def __init__(self, owner: Owner, target: Open) -> None:
        self.target = target
        self.full = False
        self.idle_since = 0.0
        self._owner: Owner | None = owner
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=BUFFER)
        if self._owner is None:  # dropped while it was being made
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Called by the loop."""
        if self._owner is not None:
            self._owner.engine_data(data)

    def eof_received(self) -> bool:
        """Called by the loop; an engine that has said all is done, whatever else comes."""
        self._ended(clean=True)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop."""
        self._ended(clean=exc is None)

    def pause_writing(self) -> None:
        """Called by the loop."""
        self.full = True
        if self._owner is not None:
            self._owner.engine_flow()

    def resume_writing(self) -> None:
        """Called by the loop."""
        self.full = False
        if self._owner is not None:
            self._owner.engine_flow()

    def write(self, data: bytes | memoryview) -> None:
        """Pass bytes to the engine; bytes for a connection that is ending are dropped."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def write_eof(self) -> None:
        """Pass on that the client will send no more."""
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write_eof()

    def hold_reading(self, hold: bool) -> None:
        """Stop or go on reading, as the client keeps up."""
        if self._transport is None or self._transport.is_closing():
            return
        if hold and self._transport.is_reading():
            self._transport.pause_reading()
        elif not hold and not self._transport.is_reading():
            self._transport.resume_reading()

    def drop(self) -> None:
        """Close at once and report nothing. A vLLM that still generates for it sees that and stops."""
        self._owner = None
        if self._transport is not None:
            self._transport.abort()

    def _ended(self, *, clean: bool) -> None:
        owner, self._owner = self._owner, None
        if owner is not None:
            owner.engine_ended(clean=clean)
