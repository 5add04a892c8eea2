"""What tests of runners share: a place on disk, launches of the misbehaving tree, and the events that were reported."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from genesisd.identity import process_ref, signal_exactly
from genesisd.supervisor.model import Event, Exited, ShimLost, Swept
from genesisd.supervisor.ports import Launch
from genesisd.supervisor.runners.local import LocalRunner

TREE = Path(__file__).with_name("tree_child.py")
SECONDS = 60.0
"""Deadline of everything that is waited for: generous, since it only ends a test that fails."""

LEAVE_SECONDS = 10.0


class Reports:
    """Collects events and waits for them."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._more = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._more.set()

    def of(self, kind: type, incarnation: int | None = None) -> list[Event]:
        return [e for e in self.events if isinstance(e, kind) and incarnation in (None, e.incarnation)]

    async def wait(self, kind: type, incarnation: int | None = None) -> Event:
        """The first event of a kind, once it is there."""
        async with asyncio.timeout(SECONDS):
            while not (found := self.of(kind, incarnation)):
                self._more.clear()
                await self._more.wait()
        return found[0]

    async def end_of(self, incarnation: int) -> Exited:
        """Exited, after Swept has come as well."""
        await self.wait(Swept, incarnation)
        exited = await self.wait(Exited, incarnation)
        kinds = [type(e) for e in self.events if getattr(e, "incarnation", None) == incarnation]
        kinds = [kind for kind in kinds if kind is not ShimLost]
        assert kinds == [Exited, Swept], f"each once and in this order, not {kinds}"
        return exited


class Place:
    """State and runtime folders of one daemon after the other, and the cleaning up after them."""

    def __init__(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="g-", dir="/tmp"))
        self.state, self.runtime = self.root / "state", self.root / "run"
        self.tmp = self.root / "tmp"
        self._runners: list[LocalRunner] = []

    def runner(self, **options: object) -> LocalRunner:
        """A runner as the next daemon would have it."""
        runner = LocalRunner(self.state, self.runtime, **options)
        self._runners.append(runner)
        return runner

    async def drop(self, runner: LocalRunner) -> None:
        """The daemon is gone; its processes are not."""
        await runner.close()
        self._runners.remove(runner)

    def launch(self, incarnation: int = 1, *flags: str, worker: str = "w1", **fields: object) -> Launch:
        """A tree of ``tree_child``; it reports its pids to ``pids()``."""
        report = self.root / f"{worker}-{incarnation}.pids"
        argv = (sys.executable, str(TREE), "--report", str(report), *flags)
        values: dict[str, object] = {
            "worker": worker,
            "incarnation": incarnation,
            "argv": argv,
            "env": {"PATH": os.environ["PATH"], "TMPDIR": str(self.tmp)},
            "cwd": None,
            "host": "127.0.0.1",
            "port": 18000,
            "scratch": (self.tmp,),
        }
        return Launch(**{**values, **fields})

    async def pids(self, incarnation: int = 1, worker: str = "w1") -> list[int]:
        """The members of the tree, leader first, once it stands."""
        report = self.root / f"{worker}-{incarnation}.pids"
        await eventually(report.exists)
        return json.loads(report.read_text())

    def shared_memory(self, incarnation: int = 1, worker: str = "w1") -> list[Path]:
        """What a tree with --shared-memory created and is still there."""
        names = json.loads((self.root / f"{worker}-{incarnation}.shm").read_text())
        return [Path("/dev/shm", name) for name in names if Path("/dev/shm", name).exists()]

    def shim_pid(self, worker: str = "w1") -> int:
        return int((self.runtime / "shims" / f"{worker}.lock").read_text())

    async def clean(self) -> list[str]:
        """End everything; what was still there and should not have been."""
        for runner in self._runners:
            await runner.close()
        for lock in self.runtime.glob("shims/*.lock"):
            await self._end(lock.stem)
        # A shim whose starter was killed meanwhile leaves by itself, once it comes to see that.
        with contextlib.suppress(AssertionError):
            await eventually(lambda: not leftovers(str(self.root)), LEAVE_SECONDS)
        left = leftovers(str(self.root))
        for pid, _ in left:
            if ref := process_ref(pid):
                signal_exactly(ref, signal.SIGKILL)
        shutil.rmtree(self.root)
        return [f"{pid}: {what}" for pid, what in left]

    async def _end(self, worker: str) -> None:
        runner, reports = LocalRunner(self.state, self.runtime), Reports()
        found = await runner.adopt(worker, reports)
        if found.life:
            await runner.kill(worker, found.life.incarnation)
            await reports.wait(Swept, found.life.incarnation)
        await runner.release(worker)
        await runner.close()


def leftovers(text: str) -> list[tuple[int, str]]:
    """Living processes whose command line or environment speaks of a path."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            cmdline = (entry / "cmdline").read_bytes()
            words = cmdline + (entry / "environ").read_bytes()
        except OSError:
            continue
        if text.encode() in words:
            found.append((int(entry.name), cmdline.replace(b"\0", b" ").decode(errors="replace")))
    return found


def alive(pid: int) -> bool:
    """Whether a process runs; a corpse does not."""
    return process_ref(pid) is not None


async def eventually(look: Callable[[], object], seconds: float = SECONDS) -> None:
    """Wait until it is so; fails when the time is over."""
    end = time.monotonic() + seconds
    while not look():
        assert time.monotonic() < end, "it did not become so in time"
        await asyncio.sleep(0.01)
