"""Bring the resolved archives into the shared store, a few at a time: what came stays, whatever happens next."""

from __future__ import annotations

import shutil
import urllib.parse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from genesisd.pins import atomic
from genesisd.pins.complaint import WrongHash
from genesisd.pins.errors import BuildError
from genesisd.pins.failure import build_failure
from genesisd.pins.pip import Pip, PipFailed
from genesisd.pins.progress import Progress, Report, Step

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from genesisd.pins.layout import Cache
    from genesisd.pins.resolve import Resolved
    from genesisd.pins.spec import PinSpec

_BATCH = 8


@dataclass(frozen=True)
class Wheel:
    """An archive in the store, whose content has been hashed."""

    archive: Resolved
    sha256: str
    path: Path


def fetch(pin: PinSpec, archives: tuple[Resolved, ...], cache: Cache, pip: Pip, report: Report) -> tuple[Wheel, ...]:
    """All ``archives`` from the store, downloaded where it lacks them.

    Raises:
        UnavailableError: a download did not work.
        BuildError: what came is not what the index promised.
    """
    store = _Store(cache, pip.work / "fetched.json")
    here = {archive: wheel for archive in archives if (wheel := store.find(archive)) is not None}
    lacking = [archive for archive in archives if archive not in here]
    for batch in _batches(pin, lacking):
        _tell(report, ", ".join(one.name for one in batch), len(here), len(archives))
        here |= {one: store.keep(one, path) for one, path in _download(pin, batch, pip)}
    _tell(report, "all wheels are here", len(archives), len(archives))
    return tuple(here[archive] for archive in archives)


def _tell(report: Report, message: str, done: int, total: int) -> None:
    report(Progress(Step.DOWNLOAD, message, done, total))


def _batches(pin: PinSpec, archives: list[Resolved]) -> Iterator[list[Resolved]]:
    """The heavy ones alone; those with a known hash apart, since pip wants a hash for all or for none."""
    alone = {pin.package, "torch"}
    yield from ([one] for one in archives if one.name in alone or one.direct or _is_local(one))
    for hashed in (True, False):
        rest = [one for one in archives if one.name not in alone and not one.direct and not _is_local(one)]
        same = [one for one in rest if (one.sha256 is not None) == hashed]
        yield from (same[n : n + _BATCH] for n in range(0, len(same), _BATCH))


def _download(pin: PinSpec, batch: list[Resolved], pip: Pip) -> list[tuple[Resolved, Path]]:
    incoming = pip.work / "incoming"
    shutil.rmtree(incoming, ignore_errors=True)
    incoming.mkdir()
    if _is_local(batch[0]):
        return [(batch[0], _copy(batch[0], incoming))]
    wanted = pip.work / "batch.txt"
    wanted.write_text("".join(f"{line}\n" for line in map(_requirement, batch)))
    found = ("--find-links", str(pip.work / "fallback"), "--dest", str(incoming), "--requirement", str(wanted))
    try:
        pip.configured("download", "--no-deps", "--only-binary=:all:", *found)
    except PipFailed as failed:
        raise build_failure(pin, failed.complaint, pip.work) from None
    return _matched(pin, batch, incoming, pip)


def _matched(pin: PinSpec, batch: list[Resolved], incoming: Path, pip: Pip) -> list[tuple[Resolved, Path]]:
    came = [(one, incoming / one.filename) for one in batch]
    for one, path in came:
        if not path.exists():
            other = ", ".join(sorted(entry.name for entry in incoming.iterdir()))
            raise build_failure(pin, WrongHash(f"expected {one.filename}, got {other or 'nothing'}"), pip.work)
    return came


def _copy(archive: Resolved, incoming: Path) -> Path:
    source = Path(urllib.parse.unquote(urllib.parse.urlsplit(archive.url).path))
    return Path(shutil.copyfile(source, incoming / archive.filename))


def _is_local(archive: Resolved) -> bool:
    return archive.url.startswith("file:")


def _requirement(archive: Resolved) -> str:
    what = f"{archive.name} @ {archive.url}" if archive.direct else f"{archive.name}=={archive.version}"
    return f"{what} --hash=sha256:{archive.sha256}" if archive.sha256 else what


class _Store:
    """Wheels by content. ``record`` remembers the hashes of those that the index gave none for."""

    def __init__(self, cache: Cache, record: Path) -> None:
        self._cache = cache
        self._record = record
        self._hashes: dict[str, str] = atomic.read_json(record) or {}

    def find(self, archive: Resolved) -> Wheel | None:
        """The wheel, if the store has it whole; a damaged one is removed."""
        sha256 = archive.sha256 or self._hashes.get(archive.filename)
        path = self._cache.wheel(sha256, archive.filename) if sha256 else None
        if sha256 is None or path is None or not path.is_file():
            return None
        if atomic.sha256_of(path) != sha256:
            path.unlink()
            return None
        return Wheel(archive, sha256, path)

    def keep(self, archive: Resolved, path: Path) -> Wheel:
        """Move ``path`` into the store. Raises BuildError unless it is what the index promised."""
        sha256 = atomic.sha256_of(path)
        if archive.sha256 not in {None, sha256}:
            raise BuildError(
                f"{archive.filename} hashes to {sha256}, the index promised {archive.sha256}",
                hint="build again; if that repeats, the index serves something else than it promises",
            )
        kept = self._cache.wheel(sha256, archive.filename)
        kept.parent.mkdir(parents=True, exist_ok=True)
        path.replace(kept)
        self._hashes[archive.filename] = sha256
        atomic.write_json(self._record, self._hashes)
        return Wheel(archive, sha256, kept)


def paths(wheels: Iterable[Wheel]) -> list[Path]:
    """Where they lie."""
    return [wheel.path for wheel in wheels]
