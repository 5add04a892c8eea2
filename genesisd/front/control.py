"""The front's side of its control socket: orders in, counts out. A peer that goes away changes nothing."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from genesisd.errors import GenesisError
from genesisd.front.decide import Limits
from genesisd.front.switchboard import Switchboard
from genesisd.front.wire import LINE_LIMIT, PROTOCOL, WireError, agree, decode, encode, order, stats_message, target_of
from genesisd.identity import process_ref


class Post(Protocol):
    """The public socket."""

    host: str
    port: int

    async def move(self, host: str, port: int) -> None:
        """Listen there instead. Raises ListenError and stays where it is."""
        ...


class Control:
    """Answers the orders of daemons, of which there may be two during an upgrade."""

    def __init__(self, worker: str, board: Switchboard, post: Post, leave: Callable[[float], None]) -> None:
        self._worker = worker
        self._board = board
        self._post = post
        self._leave = leave
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One peer, until it goes."""
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            while line := await reader.readline():
                writer.write(encode(await self._reply(line)))
                await writer.drain()
        except (OSError, ValueError, asyncio.CancelledError):
            pass  # the peer went, or sent a line beyond the limit: it connects again if it wants something
        finally:
            writer.close()

    def hang_up(self) -> None:
        """End all peers' connections."""
        for task in self._tasks:
            task.cancel()

    async def _reply(self, line: bytes) -> dict[str, Any]:
        message: dict[str, Any] = {}
        try:
            message = decode(line)
            return {"id": message.get("id"), "ok": True, **await self._obey(message)}
        except GenesisError as error:
            refused = {"code": error.code, "message": error.message, "hint": error.hint, "fields": error.fields}
            return {"id": message.get("id"), "ok": False, "error": refused}

    async def _obey(self, message: dict[str, Any]) -> dict[str, Any]:
        target = target_of(message)
        if target is not None:
            self._board.point(target)
            return {}
        match message.get("op"):
            case "hello":
                return self._hello(message)
            case "configure":
                return await self._configure(message)
            case "stats":
                return self._stats()
            case "quit":
                self._leave(_number(message, "drain", 0.0))
                return {}
            case other:
                raise WireError(f"unknown op {other!r}", hint="the daemon speaks a newer protocol than this front")

    def _hello(self, message: dict[str, Any]) -> dict[str, Any]:
        theirs = int(_number(message, "min", 1)), int(_number(message, "max", 1))
        identity = process_ref(os.getpid())
        return {
            "worker": self._worker,
            "min": PROTOCOL[0],
            "max": PROTOCOL[1],
            "version": agree(PROTOCOL, theirs),
            "pid": os.getpid(),
            "start_ticks": identity.start_ticks if identity else 0,
            "boot_id": identity.boot_id if identity else "",
            "target": order(self._board.target),
            **self._settings(),
        }

    def _settings(self) -> dict[str, Any]:
        limits = self._board.limits
        return {
            "host": self._post.host,
            "port": self._post.port,
            "hold": limits.hold,
            "max_held": limits.max_held,
        }

    async def _configure(self, message: dict[str, Any]) -> dict[str, Any]:
        limits = self._board.limits
        host, port = str(message.get("host", self._post.host)), int(_number(message, "port", self._post.port))
        if (host, port) != (self._post.host, self._post.port):
            await self._post.move(host, port)
        hold = _number(message, "hold", limits.hold)
        self._board.limit(Limits(hold, int(_number(message, "max_held", limits.max_held))))
        return self._settings()

    def _stats(self) -> dict[str, Any]:
        counts = stats_message(self._board.stats(asyncio.get_running_loop().time()))
        return {**counts, "lost": self._board.lost, "by_incarnation": self._board.by_incarnation()}


def _number(message: dict[str, Any], name: str, default: float) -> float:
    value = message.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise WireError(f"field {name!r}: expected a number, got {value!r}")
    return value


async def listen(control: Control, path: str) -> asyncio.Server:
    """Serve on a Unix socket for the owner alone. The caller holds the worker's lock, so an old socket is a dead one."""
    unlink(path)
    before = os.umask(0o177)
    try:
        return await asyncio.start_unix_server(control.serve, path, limit=LINE_LIMIT)
    finally:
        os.umask(before)


def unlink(path: str) -> None:
    """Remove the socket, if it is there."""
    Path(path).unlink(missing_ok=True)
