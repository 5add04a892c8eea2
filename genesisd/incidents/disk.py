"""How much of the disk bundles of evidence may take: bytes and number over all workers; the oldest go first.

The newest bundle of each open incident stays, whatever it costs: it is what somebody is about to read.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = "evidence"
PARTIAL = ".partial-"


@dataclass(frozen=True, slots=True)
class Budget:
    """What all bundles together may take."""

    size: int = 256 << 20
    count: int = 60


@dataclass(frozen=True, slots=True)
class Kept:
    """A bundle that lies on the disk; ``at`` is when it was written, in seconds of wall time."""

    path: Path
    at: float
    size: int


def surplus(bundles: Sequence[Kept], budget: Budget, stays: Collection[Path] = ()) -> tuple[Kept, ...]:
    """Those to remove, oldest first. Pure."""
    size, count = sum(one.size for one in bundles), len(bundles)
    found = []
    for one in sorted(bundles, key=lambda one: (one.at, one.path)):
        if size <= budget.size and count <= budget.count:
            break
        if one.path not in stays:
            found.append(one)
            size, count = size - one.size, count - 1
    return tuple(found)


def measure(root: Path) -> list[Kept]:
    """All bundles of all workers under ``root``; what cannot be read is left out."""
    found = []
    for path in root.glob(f"*/{FOLDER}/*"):
        try:
            files = [one.stat() for one in path.iterdir()] if path.is_dir() else []
            found.append(Kept(path, path.stat().st_mtime, sum(one.st_size for one in files)))
        except OSError:
            continue  # somebody else removes it
    return found


def trim(root: Path, budget: Budget, stays: Collection[Path] = ()) -> None:
    """Keep within the budget. Never raises."""
    for one in surplus(measure(root), budget, stays):
        shutil.rmtree(one.path, ignore_errors=True)


def write(target: Path, files: Mapping[str, bytes]) -> bool:
    """Write a bundle, in the order of its files; False where the disk took only the first ones.

    It appears under its name once it is whole, or as whole as the disk allows. Raises OSError where nothing at all
    could be written.
    """
    partial = target.with_name(PARTIAL + target.name)
    partial.mkdir(parents=True)
    written = 0
    for name, content in files.items():
        try:
            (partial / name).write_bytes(content)
        except OSError:
            (partial / name).unlink(missing_ok=True)
            if written == 0:
                shutil.rmtree(partial, ignore_errors=True)
                raise
            break
        written += 1
    partial.replace(target)
    return written == len(files)
