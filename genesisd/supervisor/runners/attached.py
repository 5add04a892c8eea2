"""The shim of a worker, as far as it can be asked: a connection, proven by a hello."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from typing import Any

from genesisd.errors import UnavailableError
from genesisd.identity import is_alive, signal_exactly
from genesisd.supervisor.ports import SpawnError
from genesisd.supervisor.runners import shims
from genesisd.supervisor.runners.paths import WorkerPaths
from genesisd.supervisor.shim_link import VERSION, Message, ShimGoneError, ShimLink

HELLO_SECONDS = 10.0
"""How long a shim may take to say hello, and to end when it is told to."""
APPEAR_SECONDS = 5.0
"""How long a shim that holds the lock may take until it listens."""


class AttachedShim:
    """Connects to the shim of one worker, as often as the connection was lost.

    Args:
        paths: the worker's.
        on_event: is given what the shim tells unasked.
        on_lost: is called when the connection has ended, unless we ended it.
    """

    def __init__(self, paths: WorkerPaths, on_event: Callable[[Message], None], on_lost: Callable[[], None]) -> None:
        self._paths = paths
        self._on_event = on_event
        self._told_lost = on_lost
        self._link: ShimLink | None = None

    @property
    def attached(self) -> bool:
        """Whether it can be asked."""
        return self._link is not None

    @property
    def pid(self) -> int | None:
        """The attached shim's."""
        return self._link.shim.pid if self._link and self._link.shim else None

    async def request(self, operation: str, **fields: Any) -> Message:
        """Its answer. Raises ShimRefused for a 'no' and ShimGoneError for silence."""
        if self._link is None:
            raise ShimGoneError("the shim went away")
        return await self._link.request(operation, **fields)

    def drop(self) -> None:
        """Let go of it; it lives on."""
        if self._link is not None:
            self._link.close()
            self._link = None

    def give_up(self) -> None:
        """It does not answer: without it the tree can be killed; with it, stopped, the lock is never free."""
        link = self._link
        self.drop()
        if link is not None and link.shim is not None:
            signal_exactly(link.shim, signal.SIGKILL)

    async def quit(self) -> None:
        """End it. Refused when something cannot be killed: then the shim stays and goes on trying."""
        if self._link is not None:
            link, self._link = self._link, None
            with contextlib.suppress(UnavailableError):
                await link.request("quit")
                await shims.until_true(lambda: link.shim is None or not is_alive(link.shim), HELLO_SECONDS)
            link.close()

    async def start(self, starter: shims.ShimStarter) -> None:
        """Start a new one and attach to it. Raises SpawnError where another one is in its place, and silent."""
        if not await starter.start(self._paths) or await self.attach() is None:
            owner = self._paths.lock.read_text().strip() if self._paths.lock.exists() else "unknown"
            if self._link is None and await self.attach() is None:
                raise SpawnError(
                    f"another shim of {self._paths.worker} (pid {owner}) holds {self._paths.lock} but does not answer "
                    f"at {self._paths.socket}",
                    cause="shim",
                    hint=f"look at process {owner}; once it is gone the next start succeeds",
                )

    # --- attaching ----------------------------------------------------------------------------------------------

    async def attach(self) -> Message | None:
        """Connect and say hello; None when no shim can be asked. One that holds the lock is given time to listen.

        Raises UnavailableError for a shim of another worker, or of a version that is not spoken here.
        """
        for _ in range(2):
            link = await self._connect()
            if link is None and shims.lock_is_held(self._paths.lock):
                link = await self._await_listener()
            if link is None:
                return None
            hello = await self._hello(link)
            if hello is not None:
                self._link = link
                return hello
        return None

    async def _connect(self) -> ShimLink | None:
        return await ShimLink.connect(self._paths.socket, self._on_event, self._on_lost)

    async def _await_listener(self) -> ShimLink | None:
        loop = asyncio.get_running_loop()
        end = loop.time() + APPEAR_SECONDS
        while loop.time() < end:
            link = await self._connect()
            if link is not None or not shims.lock_is_held(self._paths.lock):
                return link
            await asyncio.sleep(0.01)
        return None

    async def _hello(self, link: ShimLink) -> Message | None:
        try:
            hello = await link.request("hello", timeout=HELLO_SECONDS)
        except UnavailableError:
            # Stopped or wedged: it drains no log and sweeps nothing, and it holds the lock. The tree lives without it.
            link.close()
            if link.shim is not None:
                signal_exactly(link.shim, signal.SIGKILL)
                await shims.until_true(lambda: not shims.lock_is_held(self._paths.lock), 1.0)
            return None
        oldest, newest = hello["protocol"]
        if hello["worker"] != self._paths.worker or not oldest <= VERSION <= newest:
            link.close()
            raise UnavailableError(
                f"the shim at {self._paths.socket} is of worker {hello['worker']} and speaks versions {oldest} to "
                f"{newest}; expected worker {self._paths.worker} and version {VERSION}",
                hint="stop the worker with the daemon that started it, then start it again",
            )
        return hello

    def _on_lost(self) -> None:
        self._link = None
        self._told_lost()
