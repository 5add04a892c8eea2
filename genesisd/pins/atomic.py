"""Files that are whole or absent, whatever is killed."""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)


def write_json(path: Path, content: object) -> None:
    """Replace ``path`` by ``content`` in one step that survives a power cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w") as file:
        json.dump(content, file, indent=1, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    sync_folder(path.parent)


def read_json(path: Path) -> Any:
    """The content of ``path``, or None when it is absent or not JSON."""
    try:
        return json.loads(path.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None


def write_bytes(path: Path, content: bytes, mode: int = 0o644) -> None:
    """Put a file at ``path``, whose folder exists, without ever writing through a link that has that name.

    It survives a power cut only once its file system was synced.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.unlink(missing_ok=True)  # of one that died: in a container the next one has the same pid
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(content)
        temporary.replace(path)
    except OSError:  # a full disk: what is left of it would take the room of the next try
        temporary.unlink(missing_ok=True)
        raise


def sync_filesystem(folder: Path) -> None:
    """Make all durable that was written to the file system of ``folder``, by whomever.

    For a tree of many folders this is one flush of the disk instead of one for each, which on a busy machine is
    hundredths of a second instead of seconds.
    """
    fd = os.open(folder, os.O_RDONLY)
    try:
        if _libc.syncfs(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), str(folder))
    finally:
        os.close(fd)


def sync_folder(folder: Path) -> None:
    """Make renames inside ``folder`` durable."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def sha256_of(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def discard(folder: Path) -> None:
    """Remove a folder; what is left of it after a kill no longer has its name."""
    trash = folder.with_name(f".trash-{folder.name}-{os.getpid()}")
    try:
        folder.rename(trash)
    except FileNotFoundError:
        return
    shutil.rmtree(trash)
