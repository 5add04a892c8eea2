"""Builds as children of the daemon: one a name, begun where something is missing, told while they work.

A build takes from seconds to minutes and must not hold the daemon's loop or die with a worker, so it is a process
of its own; the workers that need it are blocked meanwhile, and their reason tells how far it has come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genesisd.supervisor.ports import EventSink

RETRY_SECONDS = 300.0
"""Pause after a failed build: a registry that is down is asked again, not hammered."""
END_SECONDS = 15.0
"""What a builder gets to end its own children in; more than it gives them."""
LONGEST_LINE = 4 << 20
"""Bytes: a failure quotes what pip said."""


@dataclass(frozen=True, slots=True)
class Told:
    """Kinds of the events that tell of builds, and the field that names what is built."""

    step: str
    built: str
    failed: str
    field: str


@dataclass(frozen=True, slots=True)
class Command:
    """What builds, and what it is told on its standard input."""

    argv: Sequence[str]
    stdin: bytes | None = None


class Builders:
    """The builds of one kind that are under way, and the failures that are still fresh."""

    def __init__(self, told: Told, sink: EventSink) -> None:
        self._told = told
        self._sink = sink
        self._builds: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, str] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def is_building(self, name: str) -> bool:
        """Whether it is under way."""
        return name in self._builds

    def progress(self, name: str) -> str:
        """How far it has come, in words."""
        return self._progress.get(name, "starting")

    def recent_failure(self, name: str) -> str | None:
        """What went wrong, while it is too early to try again."""
        at, text = self._failed.get(name, (0.0, ""))
        return text if text and asyncio.get_running_loop().time() - at < RETRY_SECONDS else None

    def begin(self, name: str, command: Command) -> None:
        """Begin, unless another worker that needs the same was faster."""
        if name in self._builds:
            return
        self._failed.pop(name, None)
        self._progress.pop(name, None)
        task = asyncio.create_task(self._build(name, command), name=f"build {name}")
        self._builds[name] = task
        task.add_done_callback(lambda _: self._builds.pop(name, None))

    def forget_failures(self) -> None:
        """A reload or a reset asks for another try."""
        self._failed.clear()

    async def close(self) -> None:
        """End the builds; the next ones go on from what was kept."""
        tasks = list(self._builds.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _build(self, name: str, command: Command) -> None:
        try:
            await self._run(name, command)
        except Exception as error:  # noqa: BLE001 - a build that ends without a word would be begun again at once
            self._fail(name, str(error) or type(error).__name__)

    async def _run(self, name: str, command: Command) -> None:
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        child = await asyncio.create_subprocess_exec(
            *command.argv,
            stdin=null if command.stdin is None else pipe,
            stdout=pipe,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        last: dict[str, Any] = {}
        try:
            await _feed(child, command.stdin)
            assert child.stdout is not None  # noqa: S101 - asked for above
            async for line in child.stdout:
                last = self._follow(name, line) or last
            code = await child.wait()
        finally:
            await _end(child)
        if code == 0:
            self._sink.emit(self._told.built, **{self._told.field: name})
        else:
            text = last.get("failed") or last.get("message") or f"the builder ended with status {code}"
            # All that people see of it is this one text: how to mend it belongs there too.
            self._fail(name, "; ".join(str(one) for one in (text, last.get("hint")) if one))

    def _follow(self, name: str, line: bytes) -> dict[str, Any] | None:
        try:
            said = json.loads(line)
        except ValueError:
            return None
        if not isinstance(said, dict):
            return None
        step, percent = said.get("step"), said.get("percent")
        if step is not None:
            share = f" {percent:.0f} %" if isinstance(percent, int | float) else ""
            self._progress[name] = f"{step}{share}"
            self._sink.emit(self._told.step, step=step, percent=percent, **{self._told.field: name})
        return said

    def _fail(self, name: str, text: str) -> None:
        self._failed[name] = (asyncio.get_running_loop().time(), text)
        self._sink.emit(self._told.failed, text=text, **{self._told.field: name})


async def _feed(child: asyncio.subprocess.Process, text: bytes | None) -> None:
    if text is None or child.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # its end tells why
        child.stdin.write(text)
        await child.stdin.drain()
    child.stdin.close()


async def _end(child: asyncio.subprocess.Process) -> None:
    """SIGINT lets the builder end its own children; downloads stay for the next try."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    try:
        async with asyncio.timeout(END_SECONDS):
            await child.wait()
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
