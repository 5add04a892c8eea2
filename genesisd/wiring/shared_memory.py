"""Notes what each life has in /dev/shm, once it is ready and has all that it will have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from genesisd.supervisor import shared_memory
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import EventSink, Runner


class SharedMemoryNotes:
    """One note a life, in its TMPDIR. A daemon that adopts finds what an earlier one wrote."""

    def __init__(self, runner: Runner, folder: Callable[[str], Path], sink: EventSink) -> None:
        self._runner = runner
        self._folder = folder
        self._sink = sink
        self._noted: dict[str, int] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def follow(self, worker: str, state: WorkerState) -> None:
        """Called at each change of a worker."""
        if state.phase is Phase.READY and self._noted.get(worker) != state.incarnation:
            self._noted[worker] = state.incarnation
            task = asyncio.get_running_loop().create_task(self._note(worker, self._runner.members(worker)))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _note(self, worker: str, pids: Sequence[int]) -> None:
        """Beside the loop: the maps of a torch process have thousands of lines."""
        try:
            await asyncio.to_thread(shared_memory.note, self._folder(worker), pids)
        except OSError as error:
            self._sink.emit("effect_failed", worker, effect="note of shared memory", text=str(error), hint=None)
