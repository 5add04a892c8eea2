"""A life whose shim is dead: its leader's death is seen and its tree ended here, and told as the shim would."""

from __future__ import annotations

import asyncio

from genesisd.identity import is_alive
from genesisd.supervisor.runners import exits, shims
from genesisd.supervisor.runners.bare import BOUND, Watch, kill_tree
from genesisd.supervisor.runners.beside import Beside
from genesisd.supervisor.runners.lives import LifeRecord
from genesisd.supervisor.runners.newest import NewestLife
from genesisd.supervisor.runners.paths import WorkerPaths


class Shimless:
    """Does the shim's work for one worker, as long as it has none."""

    def __init__(self, paths: WorkerPaths, newest: NewestLife, beside: Beside) -> None:
        self._paths = paths
        self._newest = newest
        self._beside = beside
        self._watch: Watch | None = None
        self._reaping: int | None = None

    @property
    def watches(self) -> bool:
        """Whether a leader's death would be seen."""
        return self._watch is not None

    @property
    def reaps(self) -> bool:
        """Whether a tree is being ended."""
        return self._reaping is not None

    def take(self, record: LifeRecord) -> None:
        """The shim is dead: watch the leader, or end what it left."""
        if self._newest.alive and is_alive(record.leader):
            self.watch(record)
            self._newest.shim_lost(record)
        else:
            self.reap(record)

    def watch(self, record: LifeRecord) -> None:
        """End the tree once its leader is dead."""
        self.close()
        self._watch = Watch(record.leader, lambda: self.reap(record))

    def reap(self, record: LifeRecord) -> None:
        """End the tree now."""
        if self._reaping != record.incarnation and self._newest.record is record:
            self._reaping = record.incarnation
            self._beside.begin(self._reap(record))

    async def _reap(self, record: LifeRecord) -> None:
        killing = asyncio.ensure_future(kill_tree(record.marks, lambda n: self._newest.swept(record.incarnation, n)))
        try:
            if not await shims.until_true(lambda: killing.done() or not is_alive(record.leader), BOUND):
                await killing  # the leader itself cannot be killed: it has not exited until it has
            self._tell_exit(record)
            await killing
        finally:
            killing.cancel()
            self._reaping = None
        exits.mark_swept(self._paths.exits, record.incarnation)
        self._newest.swept(record.incarnation, 0)

    def _tell_exit(self, record: LifeRecord) -> None:
        self.close()
        self._watch = None
        raw = exits.read_exit(self._paths.exits, record.incarnation)
        if raw is None:
            raw = exits.write_unwatched(self._paths.exits, record, self._paths.log, self._newest.asked)
        self._newest.exited(record.incarnation, raw)

    def close(self) -> None:
        """Watch no longer."""
        if self._watch is not None:
            self._watch.close()
