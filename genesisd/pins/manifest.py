"""What an environment is made of. Written last: without it the environment does not exist."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from genesisd.pins import atomic

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Distribution:
    """One installed distribution."""

    name: str
    version: str
    record: str
    """Folder of its record in site-packages."""
    record_sha256: str
    """Hash of the list that names all its files with their hashes."""
    url: str | None = None
    """Where its archive came from, less credentials; None for what came with the environment and for the shim."""
    archive_sha256: str | None = None


@dataclass(frozen=True)
class Manifest:
    """All that is known about a finished environment."""

    format: int
    name: str
    pin: dict[str, Any]
    """The spec that it was built from."""
    python: str
    """Full version of its interpreter."""
    built_at: float
    """Seconds since the epoch."""
    seconds: float
    """What the last run of the build took."""
    bytes: int
    """On the disk."""
    distributions: tuple[Distribution, ...]


def read_manifest(path: Path) -> Manifest | None:
    """The manifest, or None when it is absent or not of a form known here."""
    content = atomic.read_json(path)
    try:
        dists = tuple(Distribution(**one) for one in content["distributions"])
        return Manifest(**(content | {"distributions": dists}))
    except (TypeError, KeyError):
        return None


def write_manifest(path: Path, manifest: Manifest) -> None:
    """The step that makes the environment exist."""
    atomic.write_json(path, asdict(manifest))
