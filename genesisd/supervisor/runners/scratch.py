"""The folders that belong to one incarnation: empty when it starts, empty when it is gone."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from genesisd.supervisor import shared_memory


async def empty(folders: Iterable[Path]) -> list[str]:
    """Empty the folders, creating those that are absent; what could not be removed, in words.

    A look at an empty folder is cheaper than a thread, and on the way to a respawn most are empty.
    """
    full = [folder for folder in folders if not _is_empty(folder)]
    return await asyncio.to_thread(_clear, full) if full else []


def _is_empty(folder: Path) -> bool:
    try:
        with os.scandir(folder) as entries:
            return not folder.is_symlink() and next(entries, None) is None
    except OSError:
        return False


def _clear(folders: Iterable[Path]) -> list[str]:
    faults: list[str] = []
    for folder in folders:
        try:
            # A link would lead the removal out of our own folders.
            if folder.is_symlink():
                folder.unlink()
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            shared_memory.release(folder)
            for entry in os.scandir(folder):
                _remove(Path(entry.path), faults)
        except OSError as error:
            faults.append(str(error))
    return faults


def _remove(path: Path, faults: list[str]) -> None:
    try:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        faults.append(str(error))
