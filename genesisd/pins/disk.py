"""Disk space: asked for before it is needed, since a full disk hurts everything else on the machine too."""

from __future__ import annotations

import shutil
import zipfile
from typing import TYPE_CHECKING

from genesisd.pins.errors import BuildError, NoSpaceError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_BYTECODE = 1.3
"""Bytes of bytecode for a byte of source, rounded up."""
_SLACK = 96 << 20
_BLOCK = 4096


def require(folder: Path, needed: int, purpose: str) -> None:
    """Raises NoSpaceError unless ``needed`` bytes are free where ``folder`` (which exists) lies."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise no_space(folder, purpose, needed=needed, free=free)


def no_space(folder: Path, purpose: str, *, needed: int | None = None, free: int | None = None) -> NoSpaceError:
    """The error, predicted (with ``needed``) or met half-way."""
    free = shutil.disk_usage(folder).free if free is None else free
    wants = "ran out of space" if needed is None else f"needs about {human(needed)}"
    return NoSpaceError(
        f"{purpose} {wants}, and {human(free)} is free in {folder}",
        hint="free some space, remove unused environments, or choose another cache folder",
        folder=str(folder),
        needed=needed,
        free=free,
    )


def installed_size(wheels: Iterable[Path]) -> int:
    """Bytes that the wheels take once installed, bytecode included. Raises BuildError on a broken wheel."""
    return _SLACK + sum(_size(wheel) for wheel in wheels)


def tree_size(folder: Path) -> int:
    """Bytes that the folder takes on the disk, each file counted once."""
    seen: dict[tuple[int, int], int] = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        seen[status.st_dev, status.st_ino] = status.st_blocks * 512
    return sum(seen.values())


def human(count: int) -> str:
    """``2.4 GiB``."""
    size, unit = float(count), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            break
        size /= 1024
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"


def _size(wheel: Path) -> int:
    try:
        with zipfile.ZipFile(wheel) as archive:
            return sum(_on_disk(one) for one in archive.infolist())
    except zipfile.BadZipFile as error:
        raise BuildError(f"{wheel.name} is not a wheel: {error}", path=str(wheel)) from error


def _on_disk(entry: zipfile.ZipInfo) -> int:
    size = entry.file_size * (1 + _BYTECODE) if entry.filename.endswith(".py") else entry.file_size
    return (int(size) // _BLOCK + 1) * _BLOCK
