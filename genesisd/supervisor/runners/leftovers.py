"""What is left of lives that nobody can adopt: their leader is dead, or no record speaks of them. It is ended."""

from __future__ import annotations

from genesisd.clock import Clock
from genesisd.supervisor import tree
from genesisd.supervisor.runners import exits, scratch
from genesisd.supervisor.runners.bare import kill_tree
from genesisd.supervisor.runners.lives import LifeRecord, read_life, title_of
from genesisd.supervisor.runners.paths import WorkerPaths

LOOK_AGE = 0.5
"""Seconds that a look may be old. It reads every process's environment, and a start looks for each worker."""


class Leftovers:
    """Finds and ends them, for all workers of one daemon.

    Args:
        instance: tells two daemons on one machine apart.
        clock: ages the shared look.
    """

    def __init__(self, instance: str, clock: Clock) -> None:
        self._instance = instance
        self._clock = clock
        self._looked: tuple[float, dict[str, tree.Process]] | None = None

    async def end(self, paths: WorkerPaths) -> int:
        """Kill what is left of the worker's lives; how many processes survive that."""
        survivors = 0
        record = read_life(paths.worker, paths.life)
        if record is not None and not _is_over(paths, record):
            survivors += await _end_recorded(paths, record)
        for token, oldest in self._unrecorded(paths.worker).items():
            incarnation = int(token.rpartition(":")[2])
            survivors += await kill_tree(tree.Marks(oldest.ref, title_of(paths.worker, incarnation), token))
        return survivors

    def _unrecorded(self, worker: str) -> dict[str, tree.Process]:
        """Oldest process of each life of the worker that shows its token."""
        prefix = f"{self._instance}:{worker}:"
        return {token: process for token, process in self._look().items() if token.startswith(prefix)}

    def _look(self) -> dict[str, tree.Process]:
        now = self._clock.monotonic()
        if self._looked is None or now - self._looked[0] > LOOK_AGE:
            self._looked = (now, tree.lives_by_token(f"{self._instance}:"))
        return self._looked[1]


async def _end_recorded(paths: WorkerPaths, record: LifeRecord) -> int:
    if exits.read_exit(paths.exits, record.incarnation) is None:
        exits.write_unwatched(paths.exits, record, paths.log, None)
    survivors = await kill_tree(record.marks)
    await scratch.empty(record.scratch)
    if not survivors:
        exits.mark_swept(paths.exits, record.incarnation)
    return survivors


def _is_over(paths: WorkerPaths, record: LifeRecord) -> bool:
    """Whether a life was seen to its end, so that its session's number may be a stranger's by now."""
    raw = exits.read_exit(paths.exits, record.incarnation)
    return raw is not None and raw.get("survivors") == 0
