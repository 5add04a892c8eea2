"""The double of GitHub in a thread of its own, for tests that block while a daemon asks it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from tests.helpers.fakegithub import FakeGitHub, World, fake_github


@contextmanager
def github_thread(world: World) -> Iterator[FakeGitHub]:
    """A double that answers at its ``url``. Change its world and its faults at will: each answer is made anew."""
    began: list[tuple[FakeGitHub, asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_up = threading.Event()

    async def main() -> None:
        end = asyncio.Event()
        async with fake_github(world) as double:
            began.append((double, asyncio.get_running_loop(), end))
            is_up.set()
            await end.wait()

    thread = threading.Thread(target=asyncio.run, args=(main(),))
    thread.start()
    try:
        assert is_up.wait(60)
        yield began[0][0]
        assert began[0][0].errors == []
    finally:
        for _, loop, end in began:
            loop.call_soon_threadsafe(end.set)
        thread.join(60)
        assert not thread.is_alive()
