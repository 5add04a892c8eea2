"""One daemon a folder: an flock on a file in it, which the kernel drops when its holder dies."""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path

from genesisd.store.errors import StoreError, StoreLockedError


class StoreLock:
    """Held from construction to ``release``; raises StoreLockedError naming the holder's pid.

    ``setting`` is the one that says where the folder is.
    """

    def __init__(self, path: Path, setting: str = "state_dir") -> None:
        self._path = path
        try:
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreError(
                f"cannot open {path}: {error.strerror}",
                hint=f"daemon.{setting} must exist and belong to the user that runs genesisd",
                path=str(path),
            ) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = self._holder()
            os.close(self._fd)
            if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
                raise StoreError(f"cannot lock {path}: {error.strerror}", path=str(path)) from error
            raise StoreLockedError(
                f"{path.with_suffix('')} is in use by another genesisd (pid {pid or 'unknown'})",
                hint=f"stop that daemon, or give this one another daemon.{setting}",
                path=str(path.with_suffix("")),
                pid=pid,
            ) from None
        self._write_pid()

    def _write_pid(self) -> None:
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, f"{os.getpid()}\n".encode(), 0)
        except OSError:
            return  # a full disk: the lock holds all the same, only the other's message will lack our pid

    def _holder(self) -> int | None:
        text = os.pread(self._fd, 32, 0).strip()
        return int(text) if text.isdigit() else None

    def release(self) -> None:
        """Let others open the store. The file stays: removing it would let two processes lock two files."""
        os.close(self._fd)
