"""Remove builds that nobody needs any more, and what killed builders left; never a build in use."""

from __future__ import annotations

import shutil
import stat
from typing import TYPE_CHECKING

from genesisd.errors import ConflictError
from genesisd.pins import atomic, lock
from genesisd.pins.gc import Collected, Kept, Removed
from genesisd.pins.layout import Cache
from genesisd.pins.users import user_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from pathlib import Path

    Take = Callable[[Path], None]

_STAGING = ".new-"


def collect_builds(
    cache_dir: Path, keep: Collection[str], in_use: Collection[str] = (), *, dry_run: bool = False
) -> Collected:
    """Remove all builds but those named in ``keep``, and records of environments that are gone.

    A build is in use while it is named in ``in_use``, while somebody holds its lock, or while a process runs from
    it. Its manifest goes first: from then on it does not count. A dry run removes nothing, and says the same.
    """
    cache = Cache(cache_dir.absolute())
    removed: list[Removed] = []

    def take(path: Path) -> None:
        removed.append(_measure(path) if dry_run else _remove(path))

    kept: list[Kept] = []
    for name in sorted(_names(cache) - set(keep)):
        reason = "a worker uses it" if name in in_use else _remove_unless_used(cache, name, take)
        if reason is not None:
            kept.append(Kept(cache.build(name), reason))
    for name in sorted(_half_made(cache) & set(keep)):
        _remove_unless_used(cache, name, take, only_half_made=True)
    _collect_pristines(cache, take)
    for folder in (cache.builds, cache.pristines):
        for trash in folder.glob(".trash-*"):
            take(trash)
    return Collected(tuple(removed), tuple(kept))


def remove_build(cache_dir: Path, name: str) -> Removed | Kept:
    """Remove one build, such as one that was tampered with, so that it can be made anew; unless it is in use."""
    cache = Cache(cache_dir.absolute())
    removed: list[Removed] = []
    reason = _remove_unless_used(cache, name, lambda path: removed.append(_remove(path)))
    if reason is not None:
        return Kept(cache.build(name), reason)
    return Removed(cache.build(name), sum(one.bytes for one in removed))


def remove_remains(cache: Cache, name: str) -> None:
    """For the holder of the lock, who found no build: make room for a new one.

    Raises:
        ConflictError: a process runs from the folder nevertheless.
    """
    user = user_of(cache.build(name)) if cache.build(name).exists() else None
    if user is not None:
        message = f"{cache.build(name)} has no manifest that is known here, and process {user} runs from it"
        raise ConflictError(message, hint="stop the worker that it belongs to", pid=user)
    for path in _all_of(cache, name):
        _remove(path)


def _remove_unless_used(cache: Cache, name: str, take: Take, *, only_half_made: bool = False) -> str | None:
    """Why it stays, or None."""
    with lock.exclusive_now(cache.lock(name)) as fd:
        if fd is None:
            return "its lock is held"
        user = None if only_half_made else user_of(cache.build(name))
        if user is not None:
            return f"process {user} runs from it"
        for path in _left_by_dead(cache, name) if only_half_made else _all_of(cache, name):
            take(path)
    return None


def _all_of(cache: Cache, name: str) -> list[Path]:
    """The manifest first."""
    finished = [path for path in (cache.build_manifest(name), cache.build(name)) if path.exists()]
    return finished + _left_by_dead(cache, name)


def _left_by_dead(cache: Cache, name: str) -> list[Path]:
    """Only for the holder of the lock: then whoever made these is dead, its children too."""
    return [path for path, owner in _hidden(cache.builds) if owner == name]


def _hidden(folder: Path) -> Iterator[tuple[Path, str]]:
    """What a killed process began, with the name of what it was to become; trash is nobody's."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.name.startswith(_STAGING):
            yield path, path.name.removeprefix(_STAGING).rpartition("-")[0]
        elif path.name.startswith(".") and ".json." in path.name:
            yield path, path.name[1:].rpartition(".json.")[0]


def _names(cache: Cache) -> set[str]:
    return {path.name.removesuffix(".json") for path in _visible(cache.builds)} | _half_made(cache)


def _half_made(cache: Cache) -> set[str]:
    return {owner for _, owner in _hidden(cache.builds)}


def _visible(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if not path.name.startswith(".")] if folder.is_dir() else []


def _collect_pristines(cache: Cache, take: Take) -> None:
    owned = [(path, path.name.removesuffix(".json")) for path in _visible(cache.pristines)]
    for path, name in sorted([*owned, *_hidden(cache.pristines)]):
        half_made = path.name.startswith(".")
        with lock.exclusive_now(cache.lock(f"{name}+pristine")) as fd:
            if fd is not None and (half_made or not cache.manifest(name).exists()):
                take(path)


def _measure(path: Path) -> Removed:
    return Removed(path, own_size(path))


def _remove(path: Path) -> Removed:
    size = own_size(path)
    if path.is_file():
        path.unlink()
    elif path.name.startswith("."):
        shutil.rmtree(path, ignore_errors=True)  # for trash, another collection may be at it
    else:
        atomic.discard(path)
    return Removed(path, size)


def own_size(path: Path) -> int:
    """Bytes that its removal frees: what has another name stays on the disk."""
    statuses = [path.lstat(), *(below.lstat() for below in path.rglob("*"))]
    return sum(one.st_blocks * 512 for one in statuses if one.st_nlink == 1 or stat.S_ISDIR(one.st_mode))
