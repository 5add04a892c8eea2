"""The files that a build shares with nobody, as they are written."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from genesisd.pins.build_manifest import OwnFile, OwnKind
from genesisd.pins.build_tree import put_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class OwnFiles:
    """Own files of one build below ``target``, with their contents: a few megabytes."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._kinds: dict[str, OwnKind] = {}
        self.contents: dict[str, bytes] = {}

    def put(self, name: str, content: bytes, kind: OwnKind, mode: int = 0o644) -> None:
        """Write one."""
        put_file(self._target, name, content, mode)
        self._kinds[name], self.contents[name] = kind, content

    def adopt(self, bytecode: Iterable[str]) -> None:
        """Take over what the pin's Python wrote."""
        for name in bytecode:
            self._kinds[name], self.contents[name] = "bytecode", (self._target / name).read_bytes()

    def listed(self) -> dict[str, OwnFile]:
        """As the manifest lists them, by path."""
        return {
            name: OwnFile(hashlib.sha256(content).hexdigest(), self._kinds[name])
            for name, content in sorted(self.contents.items())
        }
