"""The newest life of one worker, from its birth until nothing is left of it, and who is told of its end."""

from __future__ import annotations

import asyncio
import contextlib

from genesisd.clock import Clock
from genesisd.supervisor.cgroups import Cgroups
from genesisd.supervisor.model import Exited, ExitRecord, ShimLost, Swept
from genesisd.supervisor.ports import Life, Report
from genesisd.supervisor.runners import exits, scratch
from genesisd.supervisor.runners.beside import Beside
from genesisd.supervisor.runners.lives import LifeRecord
from genesisd.supervisor.runners.paths import WorkerPaths
from genesisd.supervisor.shim_link import Message


def ignore(_: object) -> None:
    """Nobody listens yet."""


class NewestLife:
    """What is known of it. Each end is told once, whoever saw it first.

    Attributes:
        record: the life, until its tree is gone.
        alive: whether its leader lives.
        asked: who ended it, where that was us.
        clean: nothing of earlier lives is left: looked for, and nothing was spawned since.
        report: is told.
    """

    def __init__(
        self, paths: WorkerPaths, clock: Clock, cgroups: Cgroups, kernel: exits.KernelWords, beside: Beside
    ) -> None:
        self.record: LifeRecord | None = None
        self.alive = False
        self.asked: str | None = None
        self.clean = False
        self.report: Report = ignore
        self._paths = paths
        self._clock = clock
        self._cgroups = cgroups
        self._kernel = kernel
        self._beside = beside
        self._settled = asyncio.Event()
        self._settled.set()

    @property
    def life(self) -> Life | None:
        """The live incarnation."""
        return self.record.life if self.record and self.alive else None

    def begin(self, record: LifeRecord) -> None:
        """It was spawned, or found alive."""
        self.record, self.alive, self.asked, self.clean = record, True, None, False
        self._settled.clear()

    def ending(self, record: LifeRecord | None) -> None:
        """Its leader is dead, and somebody sweeps what it left."""
        self.record = record
        self._settled.clear()

    def exited(self, incarnation: int, raw: Message) -> None:
        """Its leader is dead."""
        if self.record and self.alive and self.record.incarnation == incarnation:
            self.alive = False
            self.report(Exited(self._clock.monotonic(), incarnation, exits.exit_record(raw, self._kernel)))

    def swept(self, incarnation: int, survivors: int) -> None:
        """So many processes of its tree could not be killed; with none it is over."""
        record = self.record
        if record is None or record.incarnation != incarnation:
            return
        if survivors:
            self.report(Swept(self._clock.monotonic(), incarnation, survivors))
        else:
            self.record = None
            self._beside.begin(self._clear(record))

    async def _clear(self, record: LifeRecord) -> None:
        """Swept is told when the scratch is empty too: what is there afterwards belongs to the next life."""
        self._cgroups.remove(record.cgroup)
        await scratch.empty(record.scratch)
        self._settled.set()
        self.report(Swept(self._clock.monotonic(), record.incarnation))

    def shim_lost(self, record: LifeRecord) -> None:
        """It lives on without its shim."""
        self.report(ShimLost(self._clock.monotonic(), record.incarnation))

    def tell_again(self, incarnation: int) -> None:
        """Someone waits for the end of a life that is over."""
        raw = exits.read_exit(self._paths.exits, incarnation)
        now = self._clock.monotonic()
        self.report(Exited(now, incarnation, exits.exit_record(raw or {}, self._kernel)))
        self.report(Swept(now, incarnation))

    async def until_settled(self, seconds: float) -> bool:
        """Whether nothing is left of it, after so many seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._settled.wait()
        return self._settled.is_set()

    def last_exit(self, hello: Message | None) -> tuple[int, ExitRecord | None]:
        """The newest incarnation that has ended, and how, by the disk and by what the shim says."""
        newest, raw = exits.newest_exit(self._paths.exits)
        if hello is not None:
            newest = max(newest, int(hello["newest"]))
            raw = hello["exit"] or raw
        return newest, exits.exit_record(raw, self._kernel) if raw and raw.get("incarnation") == newest else None
