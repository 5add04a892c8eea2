"""Environments for workers: found where they are built, and built by a child process where they are not."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from packaging.version import Version

from genesisd.errors import NotFoundError, UnavailableError
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.spec import PinSpec
from genesisd.supervisor.model import Reason
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.builders import Builders, Command, Told
from genesisd.wiring.gates import Gate
from genesisd.wiring.launcher import Engine

DRAIN_SINCE = Version("0.18")


class PinEngines:
    """Implements ``Engines``; its gate builds what is missing."""

    def __init__(self, pins_file: Path | None, cache_dir: Path, sink: EventSink) -> None:
        self.pins_file = pins_file
        self.cache = cache_dir
        self.builders = Builders(Told("pin_build", "pin_built", "pin_failed", "pin"), sink)

    def pin(self, name: str) -> PinSpec:
        """Read afresh each time, so that an edit counts at the next start. Raises NotFoundError or ConfigError."""
        if self.pins_file is None:
            raise NotFoundError(f"there is no pin {name!r}: no pins file is configured", hint="set 'pins: FILE'")
        return find_pin(load_pins(self.pins_file), name)

    def environment(self, pin: str) -> Environment:
        """The finished environment. Raises NotFoundError for an unknown pin, UnavailableError for one not built."""
        found = find_environment(self.pin(pin), self.cache)
        if found is None:
            raise UnavailableError(f"pin {pin} is not built", hint=f"genesisctl pins build {pin}")
        return found

    def engine(self, pin: str) -> Engine:
        """What runs it. Raises as ``environment`` does."""
        return Engine(self.environment(pin).vllm, drains=Version(self.pin(pin).version) >= DRAIN_SINCE)

    def gate(self, specs: Callable[[], Any]) -> Gate:
        """Open once the worker's pin is built; a build is begun where it is not."""

        async def check(worker: str) -> Reason | None:
            spec: WorkerSpec = specs()[worker]
            return None if spec.pin is None else await self._check(spec.pin)

        return check

    async def _check(self, name: str) -> Reason | None:
        if not self.builders.is_building(name):
            if await asyncio.to_thread(find_environment, self.pin(name), self.cache) is not None:
                return None
            if (failed := self.builders.recent_failure(name)) is not None:
                return Reason("pin-failed", f"pin {name} could not be built: {failed}")
            argv = [sys.executable, "-P", "-m", "genesisd.pins.build", str(self.pins_file), name]
            self.builders.begin(name, Command([*argv, "--cache", str(self.cache), "--progress", "json"]))
        return Reason("pin-building", f"pin {name} is being built: {self.builders.progress(name)}")

    def forget_failures(self) -> None:
        """A reload or a reset asks for another try."""
        self.builders.forget_failures()

    async def close(self) -> None:
        """End the builds; the next ones go on from what was downloaded."""
        await self.builders.close()
