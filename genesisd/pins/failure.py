"""From pip's complaint to an error that a person can act on."""

from __future__ import annotations

import urllib.parse
from typing import TYPE_CHECKING, assert_never

from genesisd.errors import ConflictError, GenesisError, NotFoundError, UnavailableError
from genesisd.pins import disk
from genesisd.pins.complaint import Complaint, Conflict, Missing, NoSpace, Other, Unreachable, WrongHash
from genesisd.pins.errors import BuildError

if TYPE_CHECKING:
    from pathlib import Path

    from genesisd.pins.spec import PinSpec

_NEWEST = 5


def build_failure(pin: PinSpec, complaint: Complaint, work: Path) -> GenesisError:
    """What to raise; ``fields`` holds pin, log, and what else is known."""
    known = {"pin": pin.id, "log": str(work / "pip.log")}
    match complaint:
        case Unreachable(url, reason):
            return UnavailableError(
                f"pin {pin.id}: {_whom(url)} did not answer: {reason}",
                hint="check the network and 'pip config list', then build again: what was fetched is kept",
                index=_host(url),
                package=_package(url) or pin.package,
                **known,
            )
        case Missing(requirement, versions):
            near = f"; it has {', '.join(versions[-_NEWEST:])}" if versions else "; it has no build for this machine"
            return NotFoundError(
                f"pin {pin.id}: no index has {requirement}{near}",
                hint="correct the version in the pins file, or name an index that has it ('source.fallback')",
                package=requirement,
                **known,
            )
        case Conflict(reason):
            hint = "relax 'requirements' or 'constraints' of the pin, or pip's own constraints"
            return ConflictError(f"pin {pin.id}: its requirements contradict each other: {reason}", hint=hint, **known)
        case NoSpace():
            return disk.no_space(work, f"pin {pin.id}")
        case WrongHash(reason):
            hint = "build again to fetch it anew; if that repeats, the index serves something else than it promises"
            return BuildError(f"pin {pin.id}: an archive is not what was recorded: {reason}", hint=hint, **known)
        case Other(reason):
            return BuildError(f"pin {pin.id}: pip failed: {reason}", hint=f"see {work / 'pip.log'}", **known)
    assert_never(complaint)


def _whom(url: str) -> str:
    package = _package(url)
    return f"index {_host(url)}" + (f" (asked for {package})" if package else "") if url else "an index"


def _host(url: str) -> str:
    """Scheme, host and port: the path may carry a token."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else url


def _package(url: str) -> str | None:
    """The project of a simple-index page."""
    steps = [step for step in urllib.parse.urlsplit(url).path.split("/") if step]
    return steps[-1] if steps and not steps[-1].endswith(".whl") else None
