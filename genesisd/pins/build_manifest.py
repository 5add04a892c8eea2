"""What a build is made of. Written last and beside it: without its manifest a build does not exist."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from genesisd.pins import atomic

if TYPE_CHECKING:
    from genesisd.pins.layout import Cache

FORMAT = 1

OwnKind = Literal["patched", "new", "replaced", "bytecode", "plugin", "attest", "dist-info"]


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file that the build shares with nobody."""

    sha256: str
    kind: OwnKind


@dataclass(frozen=True)
class BuildManifest:
    """All that is known about a finished build; but for the times the same recipe gives the same."""

    format: int
    name: str
    key: str
    environment: str
    versions: Mapping[str, str]
    """``vllm`` as the build calls itself, ``pristine`` as its environment does, ``python``, ``genesisd``."""
    notes: Mapping[str, Any]
    """What the recipe wants to be kept."""
    files: Mapping[str, OwnFile]
    """All own files by path relative to the build; every other file is the pristine one."""
    pristine: str
    """Digest of the record of the pristine tree."""
    attest: Mapping[str, Any]
    """What the plugin says must be attested, with digests."""
    links: Literal["hard", "copied"]
    """Whether the other files are hard links, or some of them had to be copied."""
    seconds: float
    built_at: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class Build:
    """A finished build: put ``path`` first on the worker's PYTHONPATH."""

    name: str
    path: Path
    key: str
    environment: str
    manifest: BuildManifest

    @property
    def attest(self) -> Mapping[str, Any]:
        """What must be attested: ``items`` with digests, and what is ``unattestable``."""
        return self.manifest.attest

    @property
    def version(self) -> str:
        """What ``importlib.metadata.version("vllm")`` says in its processes."""
        return self.manifest.versions["vllm"]


def read_build(cache: Cache, name: str) -> Build | None:
    """The build, or None when it is absent, unfinished or not of a form known here."""
    content = atomic.read_json(cache.build_manifest(name))
    try:
        files = {path: OwnFile(**one) for path, one in content.pop("files").items()}
        manifest = BuildManifest(**content, files=files)
    except (TypeError, KeyError, AttributeError):
        return None
    path = cache.build(name)
    if manifest.format != FORMAT or manifest.name != name or not path.is_dir():
        return None
    return Build(name, path, manifest.key, manifest.environment, manifest)


def write_build(cache: Cache, manifest: BuildManifest) -> None:
    """The step that makes the build count."""
    atomic.write_json(cache.build_manifest(manifest.name), asdict(manifest))
