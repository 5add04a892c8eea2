"""A worker's log lines: the last ones, then each new one, across rotation.

Reads the file that the shim writes. Following is polling: the writer is another process, and an inotify watch a
reader would cost a descriptor each.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from genesisd.supervisor.ports import Runner

LOOK_SECONDS = 0.25
LONGEST_LINE = 64 * 1024
AT_ONCE = 1 << 20


class LogLines:
    """Reads through a runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def read(self, worker: str, lines: int, *, follow: bool) -> AsyncIterator[str]:
        """The last ``lines`` lines, then new ones while ``follow``."""
        follower = _Follower(self._runner.log_path(worker))
        try:
            follower.open_at_end()
            told = await self._runner.tail(worker, lines) if lines else []
            for line in told:
                yield line
            while follow:
                fresh, done = await asyncio.to_thread(follower.more)
                for line in fresh[_known(told, fresh) :]:
                    yield line
                told = []
                if done:
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            follower.close()


def _known(told: list[str], fresh: list[str]) -> int:
    """How many lines of ``fresh`` came in while the last lines were asked for, and were told with them."""
    return next((n for n in range(min(len(told), len(fresh)), 0, -1) if told[-n:] == fresh[:n]), 0)


class _Follower:
    """What was appended since the last look; notices that the file was rotated away or truncated."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._rest = b""

    def open_at_end(self) -> None:
        self._open()
        if self._file is not None:
            self._file.seek(0, os.SEEK_END)

    def more(self) -> tuple[list[str], bool]:
        """New lines, and whether these are all. A file that was rotated away is read to its end first."""
        found = self._read()
        if self._left():
            return found, False
        if self._rotated():
            if more := self._read():  # written between the look at its end and the rotation
                return found + more, False
            self.close()
            self._open()
            found += self._read()
        return found, not self._left()

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _open(self) -> None:
        try:
            self._file = self._path.open("rb")
        except FileNotFoundError:
            self._file = None

    def _read(self) -> list[str]:
        if self._file is None:
            return []
        pieces = (self._rest + self._file.read(AT_ONCE)).split(b"\n")
        self._rest = pieces.pop()
        if len(self._rest) > LONGEST_LINE:
            pieces.append(self._rest)
            self._rest = b""
        return [piece.decode("utf-8", "replace") for piece in pieces]

    def _left(self) -> bool:
        return self._file is not None and self._file.tell() < os.fstat(self._file.fileno()).st_size

    def _rotated(self) -> bool:
        if self._file is None:
            return True
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        here = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev) or there.st_size < self._file.tell()
