"""The control server with a fake daemon behind it, in a thread: commands block while it answers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from genesisd.control.server import ControlServer
from tests.fakes.control_api import FakeApi, FixedClock


class Served:
    """A running server; ``call`` runs a function in its loop."""

    def __init__(self, path: Path, api: FakeApi, loop: asyncio.AbstractEventLoop) -> None:
        self.path = path
        self.api = api
        self._loop = loop

    def call(self, function, *args):
        async def run():
            result = function(*args)
            return await result if asyncio.iscoroutine(result) else result

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(60)


@contextmanager
def serve(path: Path, *workers) -> Iterator[Served]:
    """Serve a fake daemon with these workers at ``path``."""
    started: list[Served] = []
    is_up = threading.Event()

    async def main() -> None:
        api = FakeApi(*workers)
        server = ControlServer(api, path, FixedClock(), watch=api.watch, heartbeat=0.05)
        await server.start()
        started.append(Served(path, api, asyncio.get_running_loop()))
        is_up.set()
        await api.closed.wait()
        await server.close()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        assert is_up.wait(60)
        yield started[0]
    finally:
        started[0].call(started[0].api.closed.set)
        thread.join(60)
        assert not thread.is_alive()
