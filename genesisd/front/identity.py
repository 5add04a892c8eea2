"""Which process is meant: a pid alone may have been given to a stranger."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Identity:
    """A process that cannot be confused with a later one of the same pid.

    Attributes:
        pid: process id.
        start_ticks: field 22 of /proc/PID/stat, clock ticks since boot.
        boot_id: /proc/sys/kernel/random/boot_id.
    """

    pid: int
    start_ticks: int
    boot_id: str

    def open_pidfd(self) -> int | None:
        """A pidfd of the living process (the caller closes it), or None if it is gone or somebody else's pid."""
        try:
            pidfd = os.pidfd_open(self.pid)
        except OSError:
            return None
        # Looked at after the pidfd is held: the pid cannot be given away unnoticed in between.
        if identify(self.pid) == self and not _dead(pidfd):
            return pidfd
        os.close(pidfd)
        return None

    def send(self, number: int) -> bool:
        """Signal this process and no other; False if it is gone."""
        pidfd = self.open_pidfd()
        if pidfd is None:
            return False
        try:
            signal.pidfd_send_signal(pidfd, number)
        except ProcessLookupError:
            return False
        finally:
            os.close(pidfd)
        return True


def identify(pid: int) -> Identity | None:
    """The identity of a living process, or None."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return None
    return Identity(pid, int(stat.rpartition(")")[2].split()[19]), boot_id)


def _dead(pidfd: int) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(0))
