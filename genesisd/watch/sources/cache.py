"""Diffs on the disk, one a pull request and head: a force-push makes another, and the old one goes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from genesisd.watch.ports import Diff
from genesisd.watch.refs import Ref

UNUSED = 90 * 86400.0
"""Seconds after which what nobody asked for goes."""
_PARTIAL = ".partial.diff"


class DiffCache:
    """Files under one folder. All of it blocks: call it in a thread."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._swept = False

    def find(self, ref: Ref, head: str) -> Diff | None:
        """What is kept of that state, and mark it as used."""
        for suffix in (".diff", _PARTIAL):
            path = self._folder / f"{_stem(ref)}-{head}{suffix}"
            if path.is_file():
                with suppress(OSError):  # of a folder that may only be read nothing goes
                    os.utime(path)
                return Diff(ref, head, path, complete=suffix != _PARTIAL)
        return None

    def keep(self, ref: Ref, head: str, content: bytes, *, complete: bool) -> Diff:
        """Write it whole or not at all, and drop other heads of the same pull request. Raises OSError."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{_stem(ref)}-{head}{'.diff' if complete else _PARTIAL}"
        handle, name = tempfile.mkstemp(dir=self._folder, prefix=".", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(
                    file.fileno()
                )  # a name whose bytes a power cut took would be an empty diff: it changes nothing
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self._drop(self._folder.glob(f"{_stem(ref)}-*.diff"), keep=path)
        self._drop_unused()
        return Diff(ref, head, path, complete=complete)

    def forget(self, ref: Ref) -> int:
        """Drop every state of it; how many there were."""
        there = list(self._folder.glob(f"{_stem(ref)}-*.diff"))
        self._drop(there)
        return len(there)

    @staticmethod
    def _drop(paths: Iterable[Path], keep: Path | None = None) -> None:
        for path in paths:
            if path != keep:
                path.unlink(missing_ok=True)

    def _drop_unused(self) -> None:
        """Once in this object's life: also what a daemon that was killed left half written."""
        if self._swept:
            return
        self._swept = True
        for path in self._folder.iterdir():
            with suppress(OSError):
                limit = 3600.0 if path.suffix == ".tmp" else UNUSED
                if path.suffix in {".diff", ".tmp"} and time.time() - path.stat().st_mtime > limit:
                    path.unlink(missing_ok=True)


def _stem(ref: Ref) -> str:
    """No part of a ref may name another folder."""
    return f"{ref.repo.replace('/', '@')}-{ref.number}"
