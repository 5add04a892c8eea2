"""Whether an environment still is what was built: each distribution lists its files with their hashes."""

from __future__ import annotations

import base64
import csv
import hashlib
import random
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from genesisd.pins import atomic
from genesisd.pins.install import site_packages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from genesisd.pins.environment import Environment

SAMPLE = 400
"""Files that the fast mode hashes, beside the size of every file: under a second on a warm cache."""


class Kind(StrEnum):
    """In what way a file differs."""

    MISSING = "missing"
    CHANGED = "changed"
    UNRECORDED = "unrecorded"
    """No distribution lists it (full mode only); bytecode is not counted."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One file, relative to site-packages."""

    path: str
    kind: Kind
    distribution: str | None


@dataclass(frozen=True, slots=True)
class _Listed:
    path: str
    sha256: str
    size: int
    distribution: str


def verify(environment: Environment, *, full: bool = False, seed: int | None = None) -> tuple[Difference, ...]:
    """What differs from the build, sorted by path; empty is well.

    The fast mode compares the size of every file and the hash of a random sample (``seed`` makes it the same
    sample again); the full mode hashes every file and reports files that nobody lists.
    """
    packages = site_packages(environment.path)
    listed, differences = _listed(environment, packages)
    chosen = set(listed if full else random.Random(seed).sample(listed, min(SAMPLE, len(listed))))  # noqa: S311 - a sample
    differences += [found for one in listed if (found := _compare(packages, one, hashed=one in chosen))]
    if full:
        differences += _unrecorded(environment, packages)
    return tuple(sorted(set(differences), key=lambda one: one.path))


def _listed(environment: Environment, packages: Path) -> tuple[list[_Listed], list[Difference]]:
    """The lists themselves are trusted only as far as the manifest holds their hashes."""
    listed: list[_Listed] = []
    differences: list[Difference] = []
    for one in environment.manifest.distributions:
        record = packages / one.record / "RECORD"
        name = f"{one.record}/RECORD"
        if not record.is_file():
            differences.append(Difference(name, Kind.MISSING, one.name))
            continue
        if atomic.sha256_of(record) != one.record_sha256:
            differences.append(Difference(name, Kind.CHANGED, one.name))
        listed += _rows(record, one.name)
    return listed, differences


def _rows(record: Path, distribution: str) -> Iterator[_Listed]:
    with record.open(newline="") as file:
        for path, digest, size in csv.reader(file):
            # A wheel may ship bytecode; the build replaced it by its own, which is checked against the source.
            if digest.startswith("sha256=") and _counts(Path(path)):
                yield _Listed(path, digest.removeprefix("sha256="), int(size), distribution)


def _compare(packages: Path, one: _Listed, *, hashed: bool) -> Difference | None:
    path = packages / one.path
    try:
        same = path.stat().st_size == one.size and (not hashed or _digest(path) == one.sha256)
    except FileNotFoundError:
        return Difference(one.path, Kind.MISSING, one.distribution)
    return None if same else Difference(one.path, Kind.CHANGED, one.distribution)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        raw = hashlib.file_digest(file, "sha256").digest()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def _unrecorded(environment: Environment, packages: Path) -> list[Difference]:
    known = {f"{one.record}/RECORD" for one in environment.manifest.distributions}
    for one in environment.manifest.distributions:
        record = packages / one.record / "RECORD"
        if record.is_file():
            with record.open(newline="") as file:
                known |= {row[0] for row in csv.reader(file)}
    here = (path.relative_to(packages) for path in packages.rglob("*") if not path.is_dir())
    return [Difference(str(path), Kind.UNRECORDED, None) for path in here if _counts(path) and str(path) not in known]


def _counts(path: Path) -> bool:
    return path.suffix != ".pyc"
