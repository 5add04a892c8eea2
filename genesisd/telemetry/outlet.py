"""Where log lines leave: a thread writes them, since a terminal in ^S or a stuck pipe would stop the daemon."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TextIO

CAPACITY = 10_000
"""Lines that may wait; further ones are dropped and counted."""


class Outlet:
    """A text stream for ``logging.StreamHandler``. Never blocks and never raises."""

    def __init__(self, stream: TextIO, capacity: int = CAPACITY) -> None:
        self._stream = stream
        self._queue: queue.Queue[str | None] = queue.Queue(capacity)
        self.dropped = 0
        self._told = 0
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, text: str) -> int:
        """Queue ``text``, or drop it when nothing leaves any more."""
        try:
            self._queue.put_nowait(text)
        except queue.Full:
            self.dropped += 1
        return len(text)

    def flush(self) -> None:
        """Nothing: the thread flushes."""

    def close(self, deadline: float = 1.0) -> None:
        """Give what waits ``deadline`` seconds to leave."""
        if self._closed:
            return
        self._closed = True
        until = time.monotonic() + deadline
        with contextlib.suppress(queue.Full):
            self._queue.put(None, timeout=deadline)
            self._thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while (text := self._queue.get()) is not None:
            # A closed terminal (SIGHUP'd session) raises for ever: the daemon goes on without its log.
            with contextlib.suppress(OSError, ValueError):
                self._stream.write(text)
                self._report_dropped()
                if self._queue.empty():
                    self._stream.flush()

    def _report_dropped(self) -> None:
        if (dropped := self.dropped) != self._told:
            self._stream.write(f"({dropped - self._told} log lines were dropped here)\n")
            self._told = dropped
