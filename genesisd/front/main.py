"""The front process: ``python -m genesisd.front.main --worker W --listen H:P --socket PATH``.

It lives in its own session, so a terminal's Ctrl-C and the end of the daemon do not reach it. It ends when told to
over its socket, or on SIGTERM: then it listens no more, finishes what flows for a bounded time, and exits.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import resource
import signal
import socket

import uvloop

from genesisd.errors import GenesisError
from genesisd.front import control
from genesisd.front.client import ClientConnection
from genesisd.front.decide import Limits
from genesisd.front.listen import bind
from genesisd.front.reach import Reach
from genesisd.front.switchboard import Switchboard, Timeouts
from genesisd.front.wire import encode

_TICK = 1.0


class PublicPost:
    """The public socket; it can move without touching the connections that were accepted."""

    def __init__(self, board: Switchboard, host: str, port: int) -> None:
        self._board = board
        self.host = host
        self.port = port
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to listen. Raises ListenError."""
        await self._serve(bind(self.host, self.port))

    async def move(self, host: str, port: int) -> None:
        """Listen elsewhere. Raises ListenError and stays."""
        old, sock = self._server, bind(host, port)
        await self._serve(sock)
        self.host, self.port = host, port
        if old is not None:
            old.close()

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, sock: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: ClientConnection(self._board), sock=sock, backlog=4096)


class FrontProcess:
    """Ties the listener, the switchboard and the control socket together until told to leave."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._leaving = asyncio.Event()
        self._drain = 0.0
        self._board = Switchboard(Limits(options.hold, options.max_held), Timeouts(head=options.head), _capacity())
        host, port = _address(options.listen)
        self._post = PublicPost(self._board, host, port)
        orders = control.Control(options.worker, self._board, self._post, self.leave)
        self._reach = Reach(orders, options.socket)

    def leave(self, drain: float) -> None:
        """Begin to end; exchanges in progress get ``drain`` seconds."""
        self._drain = drain
        self._leaving.set()

    async def run(self) -> None:
        """Serve until told to leave."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self.leave, self._options.drain)
        await self._post.open()
        await self._reach.open()
        _tell(self._options.ready_fd, {"ready": True})
        while not self._leaving.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TICK):
                    await self._leaving.wait()
            self._board.tick(loop.time())
            if not self._leaving.is_set() and not await self._reach.look():
                self.leave(self._options.drain)
        self._make_room()
        await self._finish(loop.time() + self._drain)

    def _make_room(self) -> None:
        """Give up the port, the control socket and the lock, so that a successor can start while this one finishes."""
        self._post.close()
        self._reach.close()
        self._board.leave()

    async def _finish(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        while self._board.connections and loop.time() < until:
            await asyncio.sleep(0.02)
            self._board.tick(loop.time())
        for connection in list(self._board.connections):
            connection.cut()


def _capacity() -> int:
    """Client connections that the descriptors allow: two each, and some for the rest."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(8, (min(soft, 1 << 20) - 64) // 2)


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _tell(fd: int, message: dict[str, object]) -> None:
    """Tell whoever started this process how that went; nobody may be listening any more."""
    if fd >= 0:
        with contextlib.suppress(OSError):
            os.write(fd, encode(message))
        with contextlib.suppress(OSError):
            os.close(fd)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="genesisd.front", description="the stable address of one worker")
    parser.add_argument("--worker", required=True)
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--socket", required=True, metavar="PATH", help="control socket; PATH.lock is held")
    parser.add_argument("--hold", type=float, default=30.0, help="seconds a request may wait for a worker")
    parser.add_argument("--max-held", type=int, default=512, help="requests that may wait at once")
    parser.add_argument("--drain", type=float, default=30.0, help="seconds for what flows after SIGTERM")
    parser.add_argument("--head", type=float, default=20.0, help="seconds for a request's headers to arrive")
    parser.add_argument("--ready-fd", type=int, default=-1, help="told when it serves, or why it cannot")
    return parser.parse_args(argv)


async def _main(options: argparse.Namespace) -> None:
    await FrontProcess(options).run()


def main(argv: list[str] | None = None) -> int:
    """Run the front; returns the exit status."""
    options = parse(argv)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with contextlib.suppress(PermissionError):
        os.setsid()
    try:
        uvloop.run(_main(options))
    except GenesisError as error:
        _tell(
            options.ready_fd,
            {"ready": False, "code": error.code, "message": error.message, "hint": error.hint, "fields": error.fields},
        )
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
