"""Who a process is, so that nobody else is ever signalled.

A pid is a number that the kernel hands out again. (pid, start time, boot id) is a process; a pidfd opened and then
compared with those three stays that process until it is closed.
"""

from __future__ import annotations

import os
import signal
from functools import cache
from pathlib import Path

from genesisd.process_ref import ProcessRef

_STATE, _THREADS, _START = 0, 17, 19
"""Positions in /proc/PID/stat after the name."""


@cache
def boot_id() -> str:
    """Id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def read_proc(pid: int, name: str) -> bytes:
    """A file of /proc/PID; empty if it cannot be read.

    Looks at every process of the machine come through here, on the event loop: a Path and a file object would take
    three times as long.
    """
    parts = []
    try:
        fd = os.open(f"/proc/{pid}/{name}", os.O_RDONLY | os.O_CLOEXEC)
        try:
            while part := os.read(fd, 1 << 14):
                parts.append(part)
        finally:
            os.close(fd)
    except OSError:
        return b""
    return b"".join(parts)


def stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the state on, or None if the process is gone.

    The name before them is cut off at the last bracket: it may itself hold spaces and brackets.
    """
    fields = read_proc(pid, "stat").decode(errors="replace").rpartition(")")[2].split()
    return fields if len(fields) > _START else None


def is_corpse(fields: list[str]) -> bool:
    """Whether a process is dead but for its entry. A main thread that ended before its siblings looks like one."""
    return fields[_STATE] in "ZX" and int(fields[_THREADS]) <= 1


def process_ref(pid: int) -> ProcessRef | None:
    """The process that has this pid now; None if there is none, or only a corpse."""
    fields = stat_fields(pid)
    if fields is None or is_corpse(fields):
        return None
    return ProcessRef(pid, int(fields[_START]), boot_id())


def is_alive(ref: ProcessRef) -> bool:
    """Whether exactly this process still runs."""
    return process_ref(ref.pid) == ref


def open_exactly(ref: ProcessRef) -> int | None:
    """A pidfd of exactly this process, which the caller closes; None if it is gone.

    Opened first and compared afterwards: the pidfd then cannot belong to a later owner of the pid.
    """
    try:
        fd = os.pidfd_open(ref.pid)
    except OSError:
        return None
    if is_alive(ref):
        return fd
    os.close(fd)
    return None


def signal_exactly(ref: ProcessRef, number: int) -> bool:
    """Send a signal to exactly this process; False, and nothing is signalled, when it is gone."""
    fd = open_exactly(ref)
    if fd is None:
        return False
    try:
        signal.pidfd_send_signal(fd, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(fd)
    return True
