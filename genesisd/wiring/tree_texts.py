"""A pin's untouched files as texts by path, each read when it is first asked for; the last few are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

LARGEST = 8 << 20
"""Bytes; no source file comes near, and what upstream's diffs name is not ours to choose."""


class TreeTexts(Mapping[str, str]):
    """Files below ``root``. What is not UTF-8, too large, or not below it is as if it were not there."""

    def __init__(self, root: Path, keep: int = 64) -> None:
        self._root = root
        self._keep = keep
        self._read: OrderedDict[str, str | None] = OrderedDict()

    def __getitem__(self, path: str) -> str:
        if path in self._read:
            self._read.move_to_end(path)
        else:
            self._read[path] = self._text(path)
            if len(self._read) > self._keep:
                self._read.popitem(last=False)
        text = self._read[path]
        if text is None:
            raise KeyError(path)
        return text

    def __iter__(self) -> Iterator[str]:
        return (str(path.relative_to(self._root)) for path in self._root.rglob("*") if path.is_file())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _text(self, path: str) -> str | None:
        parts = PurePosixPath(path)
        if parts.is_absolute() or ".." in parts.parts or "\0" in path:
            return None
        file = self._root / parts
        try:
            return file.read_bytes().decode() if file.is_file() and file.stat().st_size <= LARGEST else None
        except (OSError, UnicodeDecodeError):
            return None
