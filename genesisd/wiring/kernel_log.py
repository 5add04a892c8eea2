"""Keeps what the kernel said lately about memory and cards, from /dev/kmsg.

The kernel's ring is read from its beginning, so that a daemon that begins after a death can still tell of what.
Where it may not be read (containers, kernel.dmesg_restrict), nothing is known and ``why_not`` says so.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from genesisd.clock import Clock
from genesisd.supervisor.kernel_lines import KernelLine, parse

KMSG = Path("/dev/kmsg")
KEPT = 200
RECORD = 8192
"""Bytes of the longest record; the kernel refuses shorter reads of it."""
READS = 20_000
"""Records of one look: a ring that is filled as fast as it is read must not hold up the loop."""


class KernelLog:
    """``lines`` looks for news and never waits."""

    def __init__(self, clock: Clock, path: Path = KMSG) -> None:
        self._clock = clock
        self._kept: deque[KernelLine] = deque(maxlen=KEPT)
        self.why_not: str | None = None
        self._file: int | None = None
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            self.why_not = f"the kernel's log cannot be read: {error.strerror} ({path})"
        self.lines()  # the whole ring, while nothing waits for it yet

    def lines(self) -> Sequence[KernelLine]:
        """Those that matter, oldest first."""
        if self._file is not None:
            for _ in range(READS):
                if not self._read(self._file):
                    break
        return tuple(self._kept)

    def close(self) -> None:
        """Let go of the file; what was read stays."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _read(self, file: int) -> bool:
        """One record; False when there is none."""
        try:
            record = os.read(file, RECORD)
        except BrokenPipeError:  # the kernel wrote over what was not read yet: go on with what is left
            return True
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                self.why_not = f"the kernel's log cannot be read: {error.strerror}"
            return False
        for line in record.decode(errors="replace").splitlines():
            self._take(line)
        return bool(record)

    def _take(self, line: str) -> None:
        """``priority,sequence,microseconds since boot,flags;text``; lines that continue one begin with a space."""
        head, semicolon, text = line.partition(";")
        fields = head.split(",")
        if not semicolon or len(fields) < 3 or not fields[2].isdecimal():
            return
        at = self._clock.wall() - self._clock.monotonic() + int(fields[2]) / 1e6
        if (found := parse(text, at)) is not None:
            self._kept.append(found)
