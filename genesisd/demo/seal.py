"""Writes what of the model folder is not trained: the golden set, and the hashes over every file.

    python -m genesisd.demo.seal        after a change of golden.py, differs.py or a template

Needs no torch. A change of the corpus needs training instead.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from genesisd.demo.golden import golden_text
from genesisd.demo.locate import FOLDER, SUMS

if TYPE_CHECKING:
    from pathlib import Path


def write_golden(folder: Path) -> None:
    """golden.json, from the corpus."""
    (folder / "golden.json").write_text(golden_text(), encoding="utf-8")


def write_sums(folder: Path) -> None:
    """SHA256SUMS over every other file, in the format of sha256sum."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    write_golden(FOLDER)
    write_sums(FOLDER)
