"""Remove what no pin needs any more; never an environment in use."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from genesisd.pins import atomic, disk, lock
from genesisd.pins.layout import Cache, environment_name
from genesisd.pins.manifest import read_manifest
from genesisd.pins.users import user_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from genesisd.pins.spec import PinSpec


@dataclass(frozen=True, slots=True)
class Removed:
    """What went, and the bytes that it took."""

    path: Path
    bytes: int


@dataclass(frozen=True, slots=True)
class Kept:
    """An environment that no pin needs, and why it is still there."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Collected:
    """What one collection did."""

    removed: tuple[Removed, ...]
    kept: tuple[Kept, ...]


def collect(keep: Iterable[PinSpec], cache_dir: Path) -> Collected:
    """Remove environments, unfinished builds and downloads that none of ``keep`` needs.

    An environment is in use while somebody holds its lock or a process has one of its files mapped or is started
    from it. Downloads go once neither an environment nor an unfinished build can want them.
    """
    cache = Cache(cache_dir.absolute())
    needed = {environment_name(pin) for pin in keep}
    removed: list[Removed] = []
    kept: list[Kept] = []
    for name in sorted(_names(cache) - needed):
        _collect_one(cache, name, removed, kept)
    removed += [_remove(path) for path in _trash(cache)]
    removed += [_remove(path) for path in _unwanted_wheels(cache)]
    return Collected(tuple(removed), tuple(kept))


def _collect_one(cache: Cache, name: str, removed: list[Removed], kept: list[Kept]) -> None:
    env = cache.env(name)
    with lock.exclusive_now(cache.lock(name)) as fd:
        if fd is None:
            kept.append(Kept(env, "its lock is held"))
            return
        user = user_of(env)
        if user is not None:
            kept.append(Kept(env, f"process {user} runs from it"))
            return
        removed += [_remove(path) for path in (env, cache.work(name)) if path.exists()]


def _names(cache: Cache) -> set[str]:
    folders = [folder for base in (cache.envs, cache.works) if base.is_dir() for folder in base.iterdir()]
    return {folder.name for folder in folders if not folder.name.startswith(".")}


def _trash(cache: Cache) -> list[Path]:
    return [path for base in (cache.envs, cache.works) if base.is_dir() for path in base.glob(".trash-*")]


def _remove(path: Path) -> Removed:
    size = disk.tree_size(path)
    if path.name.startswith(".trash-"):
        shutil.rmtree(path, ignore_errors=True)  # another collection may be at it
    else:
        atomic.discard(path)
    return Removed(path, size)


def _unwanted_wheels(cache: Cache) -> list[Path]:
    """None while a build is unfinished: it names its downloads only at its end."""
    if not cache.wheels.is_dir() or (cache.works.is_dir() and any(cache.works.iterdir())):
        return []
    manifests = [read_manifest(path) for path in cache.envs.glob("*/manifest.json")]
    wanted = {one.archive_sha256 for manifest in manifests if manifest for one in manifest.distributions}
    return [path for path in sorted(cache.wheels.iterdir()) if path.name not in wanted]
