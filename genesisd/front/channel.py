"""One control connection to a front, from the daemon's side."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from pathlib import Path
from typing import Any, Self

from genesisd.errors import GenesisError, UnavailableError
from genesisd.front.wire import LINE_LIMIT, PROTOCOL, WireError, decode, encode
from genesisd.process_ref import ProcessRef

ANSWER_WITHIN = 5.0
"""Seconds for a front to answer; it does nothing that takes long, so this allows for a loaded machine."""


class RefusedError(GenesisError):
    """The front understood and said no; ``code`` and ``fields`` are the front's own."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(str(error.get("message")), hint=error.get("hint"), **(error.get("fields") or {}))
        self.code = str(error.get("code"))


class Channel:
    """Asks one thing at a time, in order. ``lost`` is set once the connection has ended."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._asking = asyncio.Lock()
        self._answers: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._last = 0
        self.lost = asyncio.Event()
        self.heard = 0
        """Lines that have come: a front that answers late is not wedged (this daemon may have been busy)."""
        self._listening = asyncio.create_task(self._listen())
        self.hello: dict[str, Any] = {}

    @classmethod
    async def connect(cls, path: Path) -> Self:
        """Connect and exchange hellos. Raises UnavailableError."""
        try:
            reader, writer = await asyncio.open_unix_connection(path, limit=LINE_LIMIT)
        except OSError as error:
            raise UnavailableError(f"no front answers at {path}: {error.strerror}", path=str(path)) from None
        channel = cls(reader, writer)
        try:
            channel.hello = await channel.ask({"op": "hello", "min": PROTOCOL[0], "max": PROTOCOL[1]})
        except BaseException:
            await channel.close()
            raise
        return channel

    @property
    def version(self) -> int | None:
        """The version both sides speak, or None."""
        version = self.hello.get("version")
        return version if isinstance(version, int) else None

    @property
    def identity(self) -> ProcessRef | None:
        """Who is at the other end: the kernel's word on the pid, the front's on the rest; None if they differ."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        pid, _, _ = struct.unpack("3i", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        said = ProcessRef(
            int(self.hello.get("pid", 0)), int(self.hello.get("start_ticks", 0)), str(self.hello.get("boot_id"))
        )
        return said if said.pid == pid else None

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """The front's answer. Raises RefusedError, or UnavailableError when none comes."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN), self._asking:
                answer = await self._exchange(message)
        except (OSError, TimeoutError, WireError):
            raise UnavailableError(f"the front did not answer {message['op']!r}") from None
        if not answer.get("ok"):
            raise RefusedError(answer.get("error") or {})
        return answer

    async def close(self) -> None:
        """Hang up; the front goes on."""
        self._listening.cancel()
        self._writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await self._listening
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
        self.lost.set()

    async def _exchange(self, message: dict[str, Any]) -> dict[str, Any]:
        if self.lost.is_set():
            raise ConnectionResetError
        self._last += 1
        self._writer.write(encode({**message, "id": self._last}))
        await self._writer.drain()
        while True:
            answer = await self._answers.get()
            if not answer:
                raise ConnectionResetError
            if answer.get("id") == self._last:  # else it is the late answer to a question given up
                return answer

    async def _listen(self) -> None:
        try:
            while line := await self._reader.readline():
                self.heard += 1
                self._answers.put_nowait(decode(line))
        except (OSError, ValueError, WireError):
            pass
        finally:
            self.lost.set()
            self._answers.put_nowait({})
