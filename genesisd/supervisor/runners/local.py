"""The runner for this machine: a shim a worker, found again by the next daemon."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

from genesisd.clock import Clock, SystemClock
from genesisd.supervisor.cgroups import Cgroups, own_group
from genesisd.supervisor.ports import Found, Launch, Life, Report
from genesisd.supervisor.runners.exits import KernelWords, no_kernel_words
from genesisd.supervisor.runners.handle import Handle
from genesisd.supervisor.runners.leftovers import Leftovers
from genesisd.supervisor.runners.paths import WorkerPaths
from genesisd.supervisor.runners.shims import SHIM, ShimStarter, lock_is_held
from genesisd.supervisor.tree import Table, process_table


class LocalRunner:
    """Implements ``ports.Runner``.

    Args:
        state: the daemon's state folder; survives reboots.
        runtime: its runtime folder; short, since a Unix socket's path has at most 107 bytes.
        clock: time of the events.
        python: interpreter of the shims.
        shim: path of the shim's file.
        cgroup: the delegated cgroup; None: none is used.
        kernel: what the kernel said lately, for the causes of deaths.
    """

    def __init__(
        self,
        state: Path,
        runtime: Path,
        *,
        clock: Clock | None = None,
        python: str = sys.executable,
        shim: Path = SHIM,
        cgroup: Path | None = None,
        kernel: KernelWords = no_kernel_words,
    ) -> None:
        self._kernel = kernel
        self._state = state.absolute()
        self._runtime = runtime.absolute()
        self._clock = clock or SystemClock()
        self._starter = ShimStarter(python, shim)
        # Two daemons on one machine may have workers of one name; the folder tells their processes apart.
        self._instance = hashlib.sha256(str(self._state.resolve()).encode()).hexdigest()[:8]
        self._cgroups = Cgroups(cgroup, self._instance)
        self._leftovers = Leftovers(self._instance, self._clock)
        self._handles: dict[str, Handle] = {}
        self._looked: tuple[float, Table | None] = (0.0, None)

    def left(self) -> set[str]:
        """The workers whose shims live here."""
        locks = (self._runtime / "shims").glob("*.lock")
        return {path.stem for path in locks if lock_is_held(path)}

    async def adopt(self, worker: str, report: Report) -> Found:
        """Attach to whatever is left of the worker. Raises UnavailableError for a shim that cannot be understood."""
        return await self._handle(worker).adopt(report)

    async def spawn(self, launch: Launch, report: Report) -> Life:
        """Spawn an incarnation. Raises SpawnError."""
        return await self._handle(launch.worker).spawn(launch, report)

    async def terminate(self, worker: str, incarnation: int) -> None:
        """SIGTERM to the leader, if it is still the right process."""
        self._handle(worker).terminate(incarnation)

    async def kill(self, worker: str, incarnation: int) -> None:
        """SIGKILL to the whole tree; Exited and Swept follow."""
        self._handle(worker).kill(incarnation)

    def life(self, worker: str) -> Life | None:
        """The live incarnation, without asking anyone."""
        handle = self._handles.get(worker)
        return handle.life if handle else None

    def members(self, worker: str, max_age: float = 0.0) -> Sequence[int]:
        """Pids of the tree, also while it is being swept.

        A look costs the whole of /proc, so workers that can do with one that is ``max_age`` seconds old share it.
        """
        handle = self._handles.get(worker)
        return handle.members(self._look(max_age)) if handle and handle.has_tree else []

    def _look(self, max_age: float) -> Table:
        now = self._clock.monotonic()
        at, table = self._looked
        if table is None or now - at > max_age:
            table = process_table()
            self._looked = (now, table)
        return table

    async def tail(self, worker: str, lines: int) -> list[str]:
        """The last log lines."""
        return await self._handle(worker).tail(lines)

    def shim_pid(self, worker: str) -> int | None:
        """The worker's shim, or None when there is none."""
        handle = self._handles.get(worker)
        return handle.shim_pid if handle else None

    def log_path(self, worker: str) -> Path:
        """Where the current log file is."""
        return WorkerPaths(self._state, self._runtime, worker).log

    async def release(self, worker: str) -> None:
        """End the shim of a stopped worker. Raises ShimRefused while the worker has processes."""
        handle = self._handles.get(worker)
        if handle is not None:
            await handle.release()
            self._handles.pop(worker, None)

    async def close(self) -> None:
        """Let go of everything; processes live on."""
        await asyncio.gather(*(handle.close() for handle in self._handles.values()))
        self._handles.clear()
        self._starter.close()
        self._cgroups.close()

    def _handle(self, worker: str) -> Handle:
        if worker not in self._handles:
            paths = WorkerPaths(self._state, self._runtime, worker)
            self._handles[worker] = Handle(
                paths, self._instance, self._clock, self._starter, self._cgroups, self._leftovers, self._kernel
            )
        return self._handles[worker]


__all__ = ["LocalRunner", "own_group"]
