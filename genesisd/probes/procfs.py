"""The few things of /proc that probes read.

A process that is gone is no error. Anything else is raised: a daemon that is out of descriptors must not take its
workers for dead.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

_GONE = (FileNotFoundError, ProcessLookupError)
_TICK = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Stat:
    """A process. ``start`` (clock ticks since boot) tells it from a later one with the same pid.

    Attributes:
        state: the kernel's letter: R, S, D, T (stopped), t (traced), Z (zombie), X.
        cpu: CPU seconds used.
        rss: resident bytes.
    """

    pid: int
    state: str
    start: int
    cpu: float
    rss: int


def stat(pid: int) -> Stat | None:
    """The process, or None if there is none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except _GONE:
        return None
    cpu = (int(fields[11]) + int(fields[12])) * _TICK
    return Stat(pid, fields[0].decode(), int(fields[19]), cpu, int(fields[21]) * _PAGE)


def title(pid: int) -> str:
    """The command line with spaces; '' for a zombie or a process that is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace")
    except _GONE:
        return ""


def all_pids() -> Iterable[int]:
    """Every process of the machine."""
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]


def socket_inodes(pid: int) -> set[int]:
    """Inodes of the sockets that a process holds. Raises PermissionError where the kernel will not say."""
    found: set[int] = set()
    try:
        for one in Path(f"/proc/{pid}/fd").iterdir():
            found |= _socket(one)
    except _GONE:
        pass  # it is gone, and what it held as well
    return found


def _socket(descriptor: Path) -> set[int]:
    try:
        name = descriptor.readlink().name
    except _GONE:
        return set()
    return {int(name[8:-1])} if name.startswith("socket:[") else set()
