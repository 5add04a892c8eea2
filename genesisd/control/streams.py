"""Streams that a client follows: heartbeats while nothing happens, and no reader left behind when it goes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from aiohttp import web

from genesisd.control import wire
from genesisd.control.protocol import HEARTBEAT
from genesisd.errors import GenesisError

STUCK = 30.0
"""Seconds that a client may leave its stream unread before it is dropped."""
CONTENT_TYPE = "application/x-ndjson"


async def with_heartbeat(lines: AsyncIterator[str], period: float) -> AsyncIterator[str]:
    """``lines``, and an empty line after each ``period`` seconds of silence. Closes ``lines`` at the end."""
    pending: asyncio.Future[str] | None = None
    try:
        while True:
            pending = pending or asyncio.ensure_future(anext(lines))
            await asyncio.wait({pending}, timeout=period)
            if not pending.done():
                yield "\n"
                continue
            got, pending = pending, None
            try:
                line = got.result()
            except StopAsyncIteration:
                return
            yield line
    finally:
        await _end(pending, lines)


async def _end(pending: asyncio.Future[str] | None, lines: AsyncIterator[str]) -> None:
    if pending is not None:
        pending.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await pending
    close = getattr(lines, "aclose", None)
    if close is not None:
        await close()


async def send_stream(request: web.Request, lines: AsyncIterator[str], period: float = HEARTBEAT) -> web.StreamResponse:
    """Answer ``request`` with ``lines`` until they end or the client goes."""
    response = web.StreamResponse(headers={"Content-Type": CONTENT_TYPE})
    await response.prepare(request)
    stream = with_heartbeat(lines, period)
    try:
        async for line in stream:
            await _write(response, line)
    except GenesisError as problem:
        await _write(response, wire.error(problem) + "\n")
    finally:
        await stream.aclose()  # type: ignore[attr-defined]
    await response.write_eof()
    return response


async def _write(response: web.StreamResponse, line: str) -> None:
    try:
        async with asyncio.timeout(STUCK):
            await response.write(line.encode("utf-8", "replace"))
    except TimeoutError:
        raise ConnectionResetError("the client stopped reading") from None
