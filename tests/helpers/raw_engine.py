"""An engine double that speaks raw bytes, so that it can misbehave in ways no HTTP library allows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self


@dataclass
class Request:
    head: bytes
    body: bytes = b""

    @property
    def path(self) -> bytes:
        return self.head.split(b" ")[1]


Behaviour = Callable[["RawEngine", Request, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


def answer(body: bytes = b"ok", status: bytes = b"200 OK", *extra: bytes) -> bytes:
    lines = [b"HTTP/1.1 " + status, b"Content-Length: %d" % len(body), *extra, b"", body]
    return b"\r\n".join(lines)


async def say_name(engine: RawEngine, request: Request, _reader: object, writer: asyncio.StreamWriter) -> None:
    """Answer with the engine's name, the path and the length of the body."""
    writer.write(answer(b"%s %s %d" % (engine.name, request.path, len(request.body))))


@dataclass
class RawEngine:
    behaviour: Behaviour = say_name
    name: bytes = b"a"
    read_body: bool = True
    requests: list[Request] = field(default_factory=list)
    connections: int = 0
    living: int = 0
    aborted: asyncio.Event = field(default_factory=asyncio.Event)
    release: asyncio.Event = field(default_factory=asyncio.Event)
    port: int = 0

    async def __aenter__(self) -> Self:
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, limit=1 << 20, backlog=1024)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.living += 1
        try:
            while not writer.is_closing():
                request = Request(await reader.readuntil(b"\r\n\r\n"))
                self.requests.append(request)
                if self.read_body:
                    request.body = await _body(request.head, reader)
                await self.behaviour(self, request, reader, writer)
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            self.aborted.set()
        except asyncio.CancelledError:
            pass
        finally:
            self.living -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()


async def _body(head: bytes, reader: asyncio.StreamReader) -> bytes:
    lower = head.lower()
    if b"transfer-encoding: chunked" in lower:
        body = b""
        while size := int(await _line(reader), 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        while await _line(reader) != b"\r\n":
            pass
        return body
    if b"content-length:" not in lower:
        return b""
    return await reader.readexactly(int(lower.split(b"content-length:")[1].split(b"\r\n")[0]))


async def _line(reader: asyncio.StreamReader) -> bytes:
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise asyncio.IncompleteReadError(line, None)
    return line
