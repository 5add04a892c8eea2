"""The daemon's end of the connection to a shim: requests with answers, and events."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from genesisd.errors import UnavailableError
from genesisd.identity import process_ref
from genesisd.process_ref import ProcessRef

VERSION = 1
LINE_LIMIT = 8 << 20
SUN_PATH = 107
"""Bytes that a Unix socket's path may have."""

Message = dict[str, Any]


class ShimRefused(UnavailableError):  # noqa: N818 - the shim's answer, worded as one
    """The shim answered 'no'; ``refusal`` is its code, ``errno`` the system's where there is one."""

    code = "shim_refused"

    def __init__(self, refusal: str, text: str, errno: int | None = None) -> None:
        super().__init__(text, refusal=refusal, errno=errno)
        self.refusal = refusal
        self.errno = errno


class ShimGoneError(UnavailableError):
    """The shim does not answer or the connection is lost."""

    code = "shim_gone"


class ShimLink(asyncio.Protocol):
    """One connection. ``on_event`` gets events in order; ``on_lost`` is called once, unless we closed it."""

    def __init__(self, on_event: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self._on_event = on_event
        self._on_lost = on_lost
        self._waiting: dict[int, asyncio.Future[Message]] = {}
        self._received = bytearray()
        self._transport: asyncio.Transport | None = None
        self._number = 0
        self.shim: ProcessRef | None = None
        """The process on the other side, as the kernel names it."""

    @classmethod
    async def connect(
        cls, path: Path, on_event: Callable[[Message], None], on_lost: Callable[[], None]
    ) -> ShimLink | None:
        """A link, or None when nobody listens there."""
        loop = asyncio.get_running_loop()
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
        try:
            sock.connect(str(path))  # local and immediate: either somebody listens, or nobody does
        except OSError:
            sock.close()
            return None
        link = cls(on_event, on_lost)
        link.shim = _peer(sock)
        await loop.create_unix_connection(lambda: link, sock=sock)
        return link

    async def request(self, operation: str, *, timeout: float = 5.0, **fields: object) -> Message:  # noqa: ASYNC109
        """The shim's answer. Raises ShimRefused for a 'no' and ShimGoneError for silence."""
        if self._transport is None or self._transport.is_closing():
            raise ShimGoneError("the connection to the shim is closed")
        self._number += 1
        number = self._number
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._transport.write(json.dumps({"v": VERSION, "id": number, "op": operation, **fields}).encode() + b"\n")
        try:
            async with asyncio.timeout(timeout):
                message: Message = await answer
        except TimeoutError:
            raise ShimGoneError(f"the shim did not answer '{operation}' within {timeout:g} s") from None
        finally:
            self._waiting.pop(number, None)
        if message.get("ok") is not True:
            raise ShimRefused(str(message.get("error")), str(message.get("text")), message.get("errno"))
        return message

    def close(self) -> None:
        """Let go of the shim, which lives on; ``on_lost`` is not called."""
        self._on_lost = _nothing
        if self._transport is not None:
            self._transport.close()

    @property
    def closed(self) -> bool:
        """Whether the connection has ended."""
        return self._transport is None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Called by the loop."""
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Called by the loop: split into lines."""
        self._received += data
        *lines, rest = self._received.split(b"\n")
        self._received = rest
        for line in lines:
            self._take(bytes(line))
        if len(self._received) > LINE_LIMIT and self._transport is not None:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Called by the loop: whoever waits for an answer learns that none will come."""
        self._transport = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ShimGoneError("the shim closed the connection", cause=str(exc or "")))
        self._on_lost()

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if "event" in message:
            self._on_event(message)
        elif (answer := self._waiting.get(message.get("id"))) is not None and not answer.done():
            answer.set_result(message)


def socket_path(runtime: Path, worker: str) -> Path:
    """Where a worker's shim listens. Raises UnavailableError when the kernel cannot bind so long a path."""
    path = runtime / "shims" / f"{worker}.sock"
    if len(str(path).encode()) > SUN_PATH:
        raise UnavailableError(
            f"the socket path {path} has {len(str(path).encode())} bytes; the kernel allows {SUN_PATH}",
            hint="choose a shorter runtime folder",
            path=str(path),
        )
    return path


def _peer(sock: socket.socket) -> ProcessRef | None:
    credentials = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return process_ref(struct.unpack("3i", credentials)[0])


def _nothing() -> None:
    """Nobody wants to know."""
