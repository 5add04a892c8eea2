"""Environments for workers: found where they are built, and built by a child process where they are not.

A build takes minutes and must not hold the daemon's loop or die with a worker, so it is a process of its own,
one a pin; the workers that need the pin are blocked meanwhile, and their reason tells how far it has come.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.version import Version

from genesisd.errors import NotFoundError, UnavailableError
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from genesisd.pins.spec import PinSpec
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.gates import Gate
from genesisd.wiring.launcher import Engine

RETRY_SECONDS = 300.0
"""Pause after a failed build: a registry that is down is asked again, not hammered."""
END_SECONDS = 15.0
"""What a builder gets to end its own children in; more than it gives them."""
LONGEST_LINE = 4 << 20
"""Bytes: a failure quotes what pip said."""
DRAIN_SINCE = Version("0.18")


class PinEngines:
    """Implements ``Engines``; its gate builds what is missing."""

    def __init__(self, pins_file: Path | None, cache_dir: Path, sink: EventSink) -> None:
        self.pins_file = pins_file
        self._cache = cache_dir
        self._sink = sink
        self._builds: dict[str, asyncio.Task[None]] = {}
        self._progress: dict[str, str] = {}
        self._failed: dict[str, tuple[float, str]] = {}

    def pin(self, name: str) -> PinSpec:
        """Read afresh each time, so that an edit counts at the next start. Raises NotFoundError or ConfigError."""
        if self.pins_file is None:
            raise NotFoundError(f"there is no pin {name!r}: no pins file is configured", hint="set 'pins: FILE'")
        return find_pin(load_pins(self.pins_file), name)

    def engine(self, pin: str) -> Engine:
        """Raises NotFoundError for an unknown pin, UnavailableError for one that is not built."""
        spec = self.pin(pin)
        found = find_environment(spec, self._cache)
        if found is None:
            raise UnavailableError(f"pin {pin} is not built", hint=f"genesisctl pins build {pin}")
        return Engine(found.vllm, drains=Version(spec.version) >= DRAIN_SINCE)

    def gate(self, specs: Callable[[], Any]) -> Gate:
        """Open once the worker's pin is built; a build is begun where it is not."""

        async def check(worker: str) -> Reason | None:
            spec: WorkerSpec = specs()[worker]
            return None if spec.pin is None else await self._check(spec.pin)

        return check

    async def _check(self, name: str) -> Reason | None:
        if name not in self._builds:
            pin = self.pin(name)
            if await asyncio.to_thread(find_environment, pin, self._cache) is not None:
                return None
            if (failed := self._recent_failure(name)) is not None:
                return Reason("pin-failed", f"pin {name} could not be built: {failed}")
            self._begin(name)
        return Reason("pin-building", f"pin {name} is being built: {self._progress.get(name, 'starting')}")

    def _recent_failure(self, name: str) -> str | None:
        at, text = self._failed.get(name, (0.0, ""))
        return text if text and asyncio.get_running_loop().time() - at < RETRY_SECONDS else None

    def _begin(self, name: str) -> None:
        if name in self._builds:  # another worker of this pin looked at the same time
            return
        self._failed.pop(name, None)
        self._progress.pop(name, None)
        task = asyncio.create_task(self._build(name), name=f"build {name}")
        self._builds[name] = task
        task.add_done_callback(lambda _: self._builds.pop(name, None))

    async def _build(self, name: str) -> None:
        try:
            await self._run(name)
        except Exception as error:  # noqa: BLE001 - a build that ends without a word would be begun again at once
            self._fail(name, str(error) or type(error).__name__)

    async def _run(self, name: str) -> None:
        argv = [sys.executable, "-P", "-m", "genesisd.pins.build", str(self.pins_file), name]
        argv += ["--cache", str(self._cache), "--progress", "json"]
        child = await asyncio.create_subprocess_exec(
            *argv,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=LONGEST_LINE,
        )
        last: dict[str, Any] = {}
        try:
            assert child.stdout is not None  # noqa: S101 - asked for above
            async for line in child.stdout:
                last = self._follow(name, line) or last
            code = await child.wait()
        finally:
            await _end(child)
        if code == 0:
            self._sink.emit("pin_built", pin=name)
        else:
            self._fail(name, str(last.get("message") or f"the builder ended with status {code}"))

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
            self._sink.emit("pin_build", pin=name, step=step, percent=percent)
        return said

    def _fail(self, name: str, text: str) -> None:
        self._failed[name] = (asyncio.get_running_loop().time(), text)
        self._sink.emit("pin_failed", pin=name, text=text)

    def forget_failures(self) -> None:
        """A reload or a reset asks for another try."""
        self._failed.clear()

    async def close(self) -> None:
        """End the builds; the next ones go on from what was downloaded."""
        tasks = list(self._builds.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _end(child: asyncio.subprocess.Process) -> None:
    """SIGINT lets the builder end its own children; downloads stay for the next try."""
    if child.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        child.send_signal(signal.SIGINT)
    try:
        await asyncio.wait_for(child.wait(), END_SECONDS)
    except TimeoutError:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
