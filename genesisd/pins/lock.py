"""Who builds an environment, and who uses it: flock, which the kernel releases with the last holder.

Not filelock: a builder's children inherit this descriptor, so that a builder killed by SIGKILL keeps the lock
until its last pip is gone. Else the next builder would delete files under a pip that still writes them.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


_NOT_OURS = {errno.EROFS, errno.EACCES, errno.EPERM}
"""A file system that is mounted to be read only, a folder of somebody else."""


@contextmanager
def exclusive(path: Path, on_wait: Callable[[], None]) -> Iterator[int]:
    """The descriptor that holds the lock; ``on_wait`` is called once when somebody else has it."""
    fd = _open(path)
    try:
        if not _take(fd, fcntl.LOCK_EX | fcntl.LOCK_NB):
            on_wait()
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def exclusive_now(path: Path) -> Iterator[int | None]:
    """As ``exclusive``, but None instead of waiting."""
    fd = _open(path)
    try:
        yield fd if _take(fd, fcntl.LOCK_EX | fcntl.LOCK_NB) else None
    finally:
        os.close(fd)


@contextmanager
def shared(path: Path) -> Iterator[int]:
    """Keeps removers away while the environment is in use; waits for a builder."""
    fd = _open_to_share(path)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def shared_now(path: Path) -> Iterator[int | None]:
    """As ``shared``, but None instead of waiting."""
    fd = _open_to_share(path)
    try:
        yield fd if _take(fd, fcntl.LOCK_SH | fcntl.LOCK_NB) else None
    finally:
        os.close(fd)


def _open(path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)


def _open_to_share(path: Path) -> int:
    """As ``_open``; where nothing may be written, what is there will do: running from a cache takes no right to it."""
    try:
        return _open(path)
    except OSError as error:
        if error.errno not in _NOT_OURS:
            raise
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:  # nobody ever took this lock; the nearest folder is as good a thing to hold
        folder = next(one for one in path.parents if one.is_dir())
        return os.open(folder, os.O_RDONLY | os.O_CLOEXEC)


def _take(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how)
    except BlockingIOError:
        return False
    return True
