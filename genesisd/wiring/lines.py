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


class LogLines:
    """Reads through a runner."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner

    async def read(self, worker: str, lines: int, *, follow: bool) -> AsyncIterator[str]:
        """The last ``lines`` lines, then new ones while ``follow``."""
        path = self._runner.log_path(worker)
        tail = _Follower(path)
        try:
            tail.open_at_end()
            for line in await self._runner.tail(worker, lines) if lines else []:
                yield line
            while follow:
                for line in await asyncio.to_thread(tail.more):
                    yield line
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            tail.close()


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

    def more(self) -> list[str]:
        found = self._read()
        if self._rotated():
            self.close()
            self._open()
            found += self._read()
        return found

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
        pieces = (self._rest + self._file.read(1 << 20)).split(b"\n")
        self._rest = pieces.pop()
        if len(self._rest) > LONGEST_LINE:
            pieces.append(self._rest)
            self._rest = b""
        return [piece.decode("utf-8", "replace") for piece in pieces]

    def _rotated(self) -> bool:
        if self._file is None:
            return True
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        here = os.fstat(self._file.fileno())
        return (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev) or there.st_size < self._file.tell()
