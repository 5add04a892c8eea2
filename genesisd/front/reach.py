"""How daemons find the front: its lock and its control socket, made anew when they are removed under it.

A runtime folder can vanish (a logout takes the user's, a cleaner old files). Then a new daemon finds no front,
starts one, and that one finds the address taken, by a process that nobody can speak to: the worker is blocked for
ever. So the front looks after both, once a tick.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
from pathlib import Path

from genesisd.errors import GenesisError
from genesisd.front import control


class LockedError(GenesisError):
    """Another front of the same worker lives."""

    code = "locked"


class Reach:
    """Holds the lock from the beginning. Raises LockedError when another front does."""

    def __init__(self, control_side: control.Control, path: str) -> None:
        self._control = control_side
        self._path = path
        self._lock = lock(path + ".lock")
        self._server: asyncio.Server | None = None
        self._inode = 0

    async def open(self) -> None:
        """Take orders from now on."""
        self._server = await control.listen(self._control, self._path)
        self._inode = os.stat(self._path).st_ino  # noqa: PTH116 - the path stays text, as the system calls want it

    async def look(self) -> bool:
        """Make anew what was removed; False when another front of this worker has the place by now."""
        try:
            await self._mend()
        except LockedError:
            return False
        except OSError:
            pass  # no folder can be made, or no descriptor is left: at the next look
        return True

    async def _mend(self) -> None:
        if inode(self._path + ".lock") != os.fstat(self._lock).st_ino:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o750)
            old, self._lock = self._lock, lock(self._path + ".lock")
            os.close(old)
        if self._server is not None and inode(self._path) != self._inode:
            self._server.close()
            await self.open()

    def close(self) -> None:
        """Give up both, for a successor; what a successor has made already is left to it."""
        if self._server is not None:
            self._server.close()
        if inode(self._path) == self._inode:
            control.unlink(self._path)
        os.close(self._lock)
        self._control.hang_up()


def inode(path: str) -> int | None:
    """Which file has that name; None: no file has."""
    with contextlib.suppress(OSError):
        return os.stat(path).st_ino  # noqa: PTH116 - as above
    return None


def lock(path: str) -> int:
    """Hold the worker's lock for the life of the process. Raises LockedError."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        raise LockedError(f"another front holds {path}", hint="it serves the same worker; ask it to quit") from None
    os.ftruncate(fd, 0)
    os.write(fd, f"{os.getpid()}\n".encode())
    return fd
