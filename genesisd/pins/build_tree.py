"""The tree of a build: hard links to the pristine files, and own files that no link ever led to."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from genesisd.pins import atomic, disk
from genesisd.pins.errors import BuildError
from genesisd.pins.pristine_make import hash_file

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from genesisd.pins.pristine import Pristine, PristineFile

_NO_LINKS = {errno.EXDEV, errno.EMLINK, errno.EPERM, errno.EACCES, errno.EOPNOTSUPP, errno.ENOSYS}
"""Another file system, too many links, a file of somebody else, a file system without links."""


def link_tree(pristine: Pristine, target: Path, without: Collection[str]) -> Literal["hard", "copied"]:
    """Make all pristine files appear below ``target``, but for those named.

    Raises:
        BuildError: a pristine file is no longer what was recorded.
        NoSpaceError: files must be copied, and there is no room for them.
    """
    wanted = {name: file for name, file in pristine.files.items() if name not in without}
    _make_folders(target, wanted)
    copied = False
    for name, file in wanted.items():
        source, here = pristine.path(name), target / name
        try:
            _place(source, here, room=None if copied else (target, wanted.values()))
        except FileNotFoundError as error:
            raise BuildError(f"{source} is gone: it was there when the tree was recorded", path=name) from error
        copied |= _check(name, source, here, file)
    return "copied" if copied else "hard"


def put_file(target: Path, name: str, content: bytes, mode: int = 0o644) -> None:
    """An own file of the build, with its folders."""
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, content, mode)


def _make_folders(target: Path, names: Iterable[str]) -> None:
    for folder in sorted({os.path.dirname(name) for name in names}):  # noqa: PTH120 - thousands of them
        (target / folder).mkdir(parents=True, exist_ok=True)


def _place(source: Path, here: Path, room: tuple[Path, Iterable[PristineFile]] | None) -> None:
    try:
        # A link would be linked as such; the build holds what it leads to.
        os.link(os.path.realpath(source) if source.is_symlink() else source, here)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if room is not None:
            disk.require(room[0], sum(one.size for one in room[1]), "a build without hard links")
        shutil.copy2(source, here)


def _check(name: str, source: Path, here: Path, file: PristineFile) -> bool:
    """Whether it is a copy. What has another size or time than recorded is read."""
    status = here.stat()
    if (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
        found = hash_file(here).sha256
        if found != file.sha256:
            raise BuildError(
                f"{source} is no longer pristine: SHA-256 is {found}, recorded was {file.sha256}",
                hint="build the environment anew: remove its folder, then build the pin",
                path=name,
                found=found,
                expected=file.sha256,
            )
    return status.st_ino != source.stat().st_ino
