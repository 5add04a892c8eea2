"""Putting a changed watchlist in the place of the old one: whole or not at all, and never over somebody's changes.

The new bytes go to a file beside it, to the disk, and by one rename to the old name; a kill or a power cut at any point
leaves the old file or the new one. Mode, owner, group and extended attributes are the old file's; a symbolic link stays
a link, and what it leads to is replaced.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from genesisd.errors import ConflictError, PermissionDeniedError, UnavailableError


def save(path: Path, content: bytes, *, seen: str) -> None:
    """Replace what is at ``path`` by ``content``; waits for the disk, so it belongs in a thread.

    Args:
        path: the watchlist.
        content: all of it, as it is to be.
        seen: ``Watchlist.digest`` of what ``content`` was made from.

    Raises:
        ConflictError: the file is not what was seen, or somebody else replaces it just now; nothing was written.
        PermissionDeniedError: it could not be written, or not without giving it another owner, or is for nobody to write.
        UnavailableError: the disk did not take it; the old file is whole.
    """
    try:
        target = path.resolve(strict=True)
        with _locked(target, path) as (old, status):
            _unchanged(_digest(old), seen, path)
            if hashlib.sha256(content).hexdigest() != seen:
                _writable(status, path)
                _replace(target, content, old, status, seen, path)
    except PermissionError as error:
        hint = "the daemon must be allowed to write the file and to make files in its folder"
        raise PermissionDeniedError(f"{path}: {_said(error)}", hint=hint, file=str(path)) from error
    except FileNotFoundError as error:
        raise ConflictError(f"{path}: the file is gone", hint="put it back", file=str(path)) from error
    except OSError as error:
        text = f"{path}: not saved, the old file stands: {_said(error)}"
        raise UnavailableError(text, hint="see whether the disk is full", file=str(path)) from error


@contextmanager
def _locked(target: Path, path: Path) -> Iterator[tuple[int, os.stat_result]]:
    """The file, held against others of our kind; editors do not ask for locks, so what it holds is looked at too."""
    old = os.open(target, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        try:
            fcntl.flock(old, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ConflictError(f"{path}: another process saves it", hint="try again", file=str(path)) from error
        yield old, os.fstat(old)
    finally:
        os.close(old)


def _replace(target: Path, content: bytes, old: int, status: os.stat_result, seen: str, path: Path) -> None:
    # The name is always the same, so that what a killed save has left is removed by the next.
    beside = target.with_name(f".{target.name}.genesisd-new")
    beside.unlink(missing_ok=True)
    new = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(new, "wb") as file:
            _like(file.fileno(), old, status, path)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _unchanged(hashlib.sha256(target.read_bytes()).hexdigest(), seen, path)
        beside.replace(target)
    except BaseException:
        with suppress(OSError):
            beside.unlink()
        raise
    _sync_folder(target.parent)


def _like(new: int, old: int, status: os.stat_result, path: Path) -> None:
    """Give the new file what the old one has, its access lists included."""
    made = os.fstat(new)
    if (made.st_uid, made.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(new, status.st_uid, status.st_gid)
        except PermissionError as error:
            text = f"{path}: it belongs to uid {status.st_uid}, gid {status.st_gid}, and would change hands"
            hint = "give the file to the user that the daemon runs as"
            raise PermissionDeniedError(text, hint=hint, file=str(path)) from error
    os.fchmod(new, stat.S_IMODE(status.st_mode))
    with suppress(OSError):
        for name in os.listxattr(old):
            with suppress(OSError):
                os.setxattr(new, name, os.getxattr(old, name))


def _writable(status: os.stat_result, path: Path) -> None:
    """A rename needs no leave to write the file, and root needs none at all: who took it from all wants it as it is."""
    if not status.st_mode & 0o222:
        text = f"{path}: nobody may write it, so it is left as it is"
        raise PermissionDeniedError(text, hint=f"chmod u+w {path}, if the daemon is to change it", file=str(path))


def _unchanged(digest: str, seen: str, path: Path) -> None:
    if digest != seen:
        hint = "read it again; what was not saved is found again by the next sweep"
        raise ConflictError(f"{path}: changed since it was read", hint=hint, file=str(path))


def _digest(file: int) -> str:
    with os.fdopen(os.dup(file), "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the rename last. Where the folder cannot be opened for that, the file system decides when it does."""
    with suppress(PermissionError):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _said(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
