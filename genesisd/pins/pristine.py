"""The record of a pristine tree: what an environment holds of the engine, file by file. Made once, never changed.

Builds link what the record lists and nothing else, so a stray file in site-packages reaches no build. The record
vouches for content by SHA-256, and knows size and time of each file so that looking again costs no reading.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from genesisd.pins import atomic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from genesisd.pins.layout import Cache

FORMAT = 1


@dataclass(frozen=True, slots=True)
class PristineFile:
    """One file as it was when the record was made."""

    sha256: str
    size: int
    mtime_ns: int


@dataclass(frozen=True)
class Pristine:
    """What an environment holds of the engine."""

    format: int
    environment: str
    environment_built_at: float
    """Tells an environment that was built anew, whose files are others, from the one that was recorded."""
    packages: Path
    """Its site-packages."""
    own: Path
    """Where bytecode lies that site-packages lack or hold stale; laid out as they are."""
    python: str
    magic: str
    """First bytes of this Python's bytecode, in hexadecimal digits."""
    tag: str
    """Such as ``cpython-311``: part of the names of bytecode files."""
    version: str
    """Of the distribution called ``vllm``."""
    metadata: str
    """Folder of that distribution's metadata, in site-packages."""
    files: Mapping[str, PristineFile]
    """By path relative to site-packages."""
    made: frozenset[str]
    """Those of ``files`` that lie below ``own``."""

    def path(self, name: str) -> Path:
        """Where the file lies."""
        return (self.own if name in self.made else self.packages) / name

    @cached_property
    def digest(self) -> str:
        """Over the names and contents of all files."""
        lines = "".join(f"{file.sha256} {name}\n" for name, file in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()


def read_pristine(cache: Cache, environment: str) -> Pristine | None:
    """The record, or None when it is absent, damaged or not of a form known here."""
    content = atomic.read_json(cache.pristine(environment))
    try:
        digest = content.pop("digest")
        files = {name: PristineFile(*file) for name, file in content.pop("files").items()}
        made, packages, own = frozenset(content.pop("made")), Path(content.pop("packages")), Path(content.pop("own"))
        record = Pristine(**content, files=files, made=made, packages=packages, own=own)
    except (TypeError, KeyError, AttributeError):
        return None
    return record if record.format == FORMAT and record.digest == digest else None


def write_pristine(cache: Cache, record: Pristine) -> None:
    """The step that makes the record exist."""
    files = {name: [file.sha256, file.size, file.mtime_ns] for name, file in record.files.items()}
    plain = asdict(record) | {"packages": str(record.packages), "own": str(record.own), "made": sorted(record.made)}
    atomic.write_json(cache.pristine(record.environment), plain | {"files": files, "digest": record.digest})
