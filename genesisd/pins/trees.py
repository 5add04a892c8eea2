"""Pristine source trees of releases: the Python files of a wheel, kept in the cache, for looking and never for running.

A tree is 40 MB where its wheel is up to 500, so the wheel goes once its files are out. ``RECORD`` comes along: it
has upstream's own hash of each file.
"""

from __future__ import annotations

import shutil
import sys
import zipfile
from pathlib import Path, PurePosixPath

from packaging.utils import canonicalize_name

from genesisd.errors import NotFoundError, UnavailableError
from genesisd.pins import atomic, lock
from genesisd.pins.pip import Pip, PipFailed

PYTHON = "3.12"
"""Whose wheel is asked for where a release has several; the Python files are the same."""
_KEPT = {".py", ".pyi"}


def find_tree(package: str, version: str, cache: Path) -> Path | None:
    """The folder that holds the release's packages, or None."""
    tree = _place(package, version, cache)
    return tree if tree.is_dir() else None


def fetch_tree(package: str, version: str, cache: Path) -> Path:
    """The same, fetched by pip with the operator's configuration where it is not there. Blocks.

    Raises:
        NotFoundError: there is no such release, or it has no wheel.
        UnavailableError: pip could not fetch it.
    """
    tree = _place(package, version, cache)
    with lock.exclusive(cache / "locks" / f"tree-{tree.name}", lambda: None):
        if not tree.is_dir():
            work = cache / "work" / f"tree-{tree.name}"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            try:
                _unpack(_download(package, version, work), work / "tree")
                tree.parent.mkdir(exist_ok=True)
                (work / "tree").rename(tree)
                atomic.sync_folder(tree.parent)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return tree


def _place(package: str, version: str, cache: Path) -> Path:
    return cache.absolute() / "trees" / f"{canonicalize_name(package)}-{version}"


def _download(package: str, version: str, work: Path) -> Path:
    where = ("--dest", str(work / "wheel"), "--python-version", PYTHON)
    wanted = f"{package}=={version}"
    try:
        Pip(Path(sys.executable), work).configured("download", "--no-deps", "--only-binary=:all:", *where, wanted)
    except PipFailed as failed:
        said = " ".join(line for line in failed.output if "ERROR" in line) or str(failed)
        kind = NotFoundError if "No matching distribution" in said else UnavailableError
        raise kind(f"the wheel of {wanted} could not be fetched: {said}") from None
    return next((work / "wheel").glob("*.whl"))


def _unpack(wheel: Path, target: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if _is_kept(PurePosixPath(name))]
        archive.extractall(target, names)


def _is_kept(path: PurePosixPath) -> bool:
    return path.suffix in _KEPT or (path.name == "RECORD" and path.parent.suffix == ".dist-info")
