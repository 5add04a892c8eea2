"""Whether a build still is what was built. Own files are read each time, linked ones when something about them is odd."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from genesisd.pins.layout import Cache
from genesisd.pins.pristine import read_pristine
from genesisd.pins.pristine_make import hash_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from genesisd.pins.build_manifest import Build
    from genesisd.pins.pristine import Pristine, PristineFile


class Fault(StrEnum):
    """In what way a file is not as it was built."""

    MISSING = "missing"
    CHANGED = "changed"
    ADDED = "added"


@dataclass(frozen=True, slots=True)
class BuildFault:
    """One file; ``str`` of it is for people."""

    path: str
    """Relative to the build; the record of the pristine tree by its absolute path."""
    kind: Fault
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.path}: {self.kind}: found {self.found}, expected {self.expected}"


def verify_build(build: Build, cache_dir: Path, *, deep: bool = False) -> tuple[BuildFault, ...]:
    """All faults, sorted by path; empty is well. Reads a few megabytes; ``deep`` reads every file.

    A linked file is taken for the pristine one when it is the same inode (or a copy of the same time, where links
    were impossible) with the recorded size and time; otherwise its content decides. A change that keeps size and
    time is found by ``deep`` alone.
    """
    cache = Cache(cache_dir.absolute())
    pristine = read_pristine(cache, build.environment)
    if pristine is None or pristine.digest != build.manifest.pristine:
        found = "no record" if pristine is None else f"a record with digest {pristine.digest}"
        kind = Fault.MISSING if pristine is None else Fault.CHANGED
        where = str(cache.pristine(build.environment))
        return (BuildFault(where, kind, found, f"a record with digest {build.manifest.pristine}"),)
    return check_tree(build, pristine, deep=deep)


def check_tree(build: Build, pristine: Pristine, *, deep: bool = False) -> tuple[BuildFault, ...]:
    """As ``verify_build``, with the record at hand."""
    own = build.manifest.files
    linked = {name: file for name, file in pristine.files.items() if name not in own}
    here = dict(_scan(str(build.path), ""))
    faults = [_missing(name) for name in (own.keys() | linked.keys()) - here.keys()]
    faults += [_added(name, here[name]) for name in here.keys() - own.keys() - linked.keys()]
    for name in own.keys() & here.keys():
        faults += _compare(build.path / name, name, here[name], own[name].sha256)
    for name in linked.keys() & here.keys():
        if deep or not _looks_pristine(build, pristine, name, here[name], linked[name]):
            faults += _compare(build.path / name, name, here[name], linked[name].sha256)
    return tuple(sorted(faults, key=lambda one: one.path))


def _scan(folder: str, prefix: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                yield from _scan(entry.path, f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry.stat(follow_symlinks=False)


def _looks_pristine(build: Build, pristine: Pristine, name: str, status: os.stat_result, file: PristineFile) -> bool:
    if not stat.S_ISREG(status.st_mode) or (status.st_size, status.st_mtime_ns) != (file.size, file.mtime_ns):
        return False
    if build.manifest.links == "copied":
        return True
    try:
        source = pristine.path(name).stat()
    except OSError:
        return False
    return (status.st_dev, status.st_ino) == (source.st_dev, source.st_ino)


def _compare(path: Path, name: str, status: os.stat_result, expected: str) -> list[BuildFault]:
    if not stat.S_ISREG(status.st_mode):
        return [BuildFault(name, Fault.CHANGED, _form(status.st_mode), "a regular file")]
    try:
        found = hash_file(path).sha256
    except OSError as error:
        return [BuildFault(name, Fault.CHANGED, f"unreadable ({error.strerror})", f"sha256 {expected}")]
    return [] if found == expected else [BuildFault(name, Fault.CHANGED, f"sha256 {found}", f"sha256 {expected}")]


def _missing(name: str) -> BuildFault:
    return BuildFault(name, Fault.MISSING, "no file", "the file that was built")


def _added(name: str, status: os.stat_result) -> BuildFault:
    return BuildFault(name, Fault.ADDED, f"{_form(status.st_mode)} of {status.st_size} bytes", "nothing")


def _form(mode: int) -> str:
    kind = {stat.S_IFREG: "a file", stat.S_IFLNK: "a symbolic link"}
    return kind.get(stat.S_IFMT(mode), "a special file")
