"""The builds that are about to be run: from finding one to the process that runs from it, no collection may take it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from genesisd.pins.builds import hold_build


class Holds:
    """At most one build a worker; for one thread, which is never kept waiting.

    The kernel lets go of all of them with the process, so a daemon that dies leaves nothing locked.
    """

    def __init__(self) -> None:
        self._held: dict[str, ExitStack] = {}

    def take(self, worker: str, cache: Path, name: str) -> bool:
        """Hold this build for the worker, in the place of another; False when it is not there any more."""
        self.release(worker)
        with ExitStack() as stack:
            if not stack.enter_context(hold_build(cache, name)):
                return False
            self._held[worker] = stack.pop_all()
        return True

    def release(self, worker: str) -> None:
        """Let go of what is held for the worker, if anything."""
        if (stack := self._held.pop(worker, None)) is not None:
            stack.close()

    def close(self) -> None:
        """Let go of everything."""
        for worker in tuple(self._held):
            self.release(worker)
