"""A package with some files changed, beside one that nobody may write: links to all that is the same."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePosixPath


def overlay(tree: Path, target: Path, changed: Mapping[str, str]) -> Path:
    """Make ``target``, an empty folder, look like ``tree`` with ``changed`` in it; only packages that change are there.

    Symbolic links, since the folder may be on another file system, and thousands of files cost only as many links as
    the changed ones have neighbours. Bytecode is not taken along: that of a changed file would count for it.
    """
    for name, text in changed.items():
        path = PurePosixPath(name)
        for folder in reversed(path.parents[:-1]):
            _unfold(tree / folder, target / folder)
        place = target / path
        place.unlink(missing_ok=True)
        with place.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
    return target


def _unfold(folder: Path, place: Path) -> None:
    """A real folder of links where there was a link to a folder."""
    if place.is_dir() and not place.is_symlink():
        return
    place.unlink(missing_ok=True)
    place.mkdir()
    for child in folder.iterdir() if folder.is_dir() else ():
        if child.name != "__pycache__":
            (place / child.name).symlink_to(child.resolve())
