"""Entries of /dev/shm that a life uses, written down while it serves.

multiprocessing's resource_tracker removes them once everybody else is dead, unless it is killed as well (by the
kernel's OOM killer, or by somebody's ``pkill -9``). Then they hold memory until the machine starts anew, and nothing
says whose they were: the dead map nothing any more. So they are noted in the life's TMPDIR when it becomes ready, and
whoever empties that folder removes them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

MOUNT = Path("/dev/shm")  # noqa: S108 - where POSIX shared memory lives on Linux
NOTE = ".shared-memory"
PREFIXES = ("psm_", "sem.mp-", "nccl-")
"""What vLLM's processes make for themselves. Anything else may be somebody else's that they only attached."""
_MARK = f" {MOUNT}/".encode()


def note(folder: Path, pids: Iterable[int]) -> None:
    """Write down what these processes map. Raises OSError when the folder cannot be written."""
    (folder / NOTE).write_text("".join(f"{name}\n" for name in sorted(mapped(pids))), encoding="utf-8")


def mapped(pids: Iterable[int]) -> set[str]:
    """Names of the entries that the processes map; none of those that are gone or may not be looked at.

    By inode, since glibc maps a semaphore under a first name and then links it to its lasting one.
    """
    inodes = {inode for pid in pids for inode in _inodes(pid)}
    with os.scandir(MOUNT) as entries:
        return {entry.name for entry in entries if _removable(entry.name) and entry.inode() in inodes}


def _inodes(pid: int) -> set[int]:
    try:
        lines = Path(f"/proc/{pid}/maps").read_bytes().split(b"\n")
    except OSError:
        return set()
    return {int(line.split(None, 5)[4]) for line in lines if _MARK in line}


def release(folder: Path) -> None:
    """Remove what is noted in the folder and still there. Nothing of the life may live any more."""
    with contextlib.suppress(OSError, ValueError):
        for name in (folder / NOTE).read_text(encoding="utf-8").splitlines():
            if _removable(name):
                with contextlib.suppress(OSError):
                    (MOUNT / name).unlink()


def _removable(name: str) -> bool:
    """The worker can write to its TMPDIR, so a note proves nothing about a path."""
    return name.startswith(PREFIXES) and "/" not in name
