"""Why pip failed, read from what it wrote. Pure.

Pip says the same sentence, 'no matching distribution', for a version that does not exist and for an index that
is down. Only its debug log tells them apart, and the two must never be confused: an outage is not a 'no'.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from collections.abc import Iterable

_CREDENTIALS = re.compile(r"(\w+://)[^/@\s]+@")
_NOT_FETCHED = re.compile(r"Could not fetch URL (\S+): (.+) - skipping")
_TRANSPORT = re.compile(
    r"(Max retries exceeded|ReadTimeout|Read timed out|ConnectTimeout|NewConnectionError|ConnectionResetError"
    r"|Connection broken|IncompleteRead|ProxyError|SSLError|NameResolutionError|Network is unreachable"
    r"|HTTP error (?:401|403|407|408|429|5\d\d)|(?:401|403|407|408|429|5\d\d) (?:Client|Server) Error)"
)
_MISSING = re.compile(r"Could not find a version that satisfies the requirement (.+?)(?: \(from versions: (.*?)\))?$")
_URL = re.compile(r"\w+://[^\s'\")]+")
_EXACT = re.compile(r"\b([A-Za-z0-9][A-Za-z0-9._-]*)==([^\s;,()]+)")


@dataclass(frozen=True)
class Unreachable:
    """An index, or a file on it, did not answer."""

    url: str
    reason: str


@dataclass(frozen=True)
class Missing:
    """Every index answered, and none has it."""

    requirement: str
    versions: tuple[str, ...]


@dataclass(frozen=True)
class Conflict:
    """No set of versions satisfies everybody."""

    reason: str


@dataclass(frozen=True)
class NoSpace:
    """The disk filled up."""


@dataclass(frozen=True)
class WrongHash:
    """What came is not what was recorded."""

    reason: str


@dataclass(frozen=True)
class Other:
    """Anything else, in pip's last words."""

    reason: str


Complaint = Unreachable | Missing | Conflict | NoSpace | WrongHash | Other


def redact(text: str) -> str:
    """``text`` less the user and password of every URL in it."""
    return _CREDENTIALS.sub(r"\1****@", text)


def explain(output: Iterable[str], log: Iterable[str]) -> Complaint:
    """The one cause, from pip's output and its debug log."""
    said = [redact(line.strip()) for line in output]
    text = "\n".join(said)
    if "No space left on device" in text or "Disk quota exceeded" in text:
        return NoSpace()
    if "DO NOT MATCH THE HASHES" in text:
        return WrongHash(_after(said, "Expected sha256"))
    if (down := _unreachable(said, log)) is not None:
        return down
    if (conflict := _conflict(said)) is not None:
        return conflict
    if (missing := _missing(said)) is not None:
        return missing
    return Other(_last_words(said))


def exact_requirements(output: Iterable[str]) -> dict[str, str]:
    """Versions that pip names in its complaint, such as ``torch==2.13.0+cpu``, by canonical name."""
    return {canonicalize_name(name): version for line in output for name, version in _EXACT.findall(line)}


def _unreachable(said: list[str], log: Iterable[str]) -> Unreachable | None:
    for line in log:
        found = _NOT_FETCHED.search(line)
        if found is not None and not found[2].startswith("404 "):
            return Unreachable(redact(found[1]), redact(_short(found[2])))
    for line in said:
        if line.startswith("WARNING: Retrying") or _TRANSPORT.search(line) is None:
            continue
        url = _URL.search(line)
        return Unreachable(url[0] if url else "", _short(line))
    return None


def _conflict(said: list[str]) -> Conflict | None:
    if not any("ResolutionImpossible" in line for line in said):
        return None
    causes = [line for line in said if " depends on " in line or "requested " in line]
    return Conflict("; ".join(causes) or _last_words(said))


def _missing(said: list[str]) -> Missing | None:
    for line in said:
        found = _MISSING.search(line)
        if found is not None:
            versions = [one.strip() for one in (found[2] or "").split(",")]
            return Missing(
                found[1].split(" (from ")[0].split(";")[0].strip(), tuple(v for v in versions if v and v != "none")
            )
    return None


def _after(said: list[str], start: str) -> str:
    return "; ".join(line for line in said if line.startswith((start, "Got")) or ".whl" in line)[:300]


def _last_words(said: list[str]) -> str:
    errors = [line for line in said if line.startswith("ERROR")] or [line for line in said if line]
    return _short(errors[-1]) if errors else "pip said nothing"


def _short(line: str) -> str:
    return line if len(line) <= 300 else f"{line[:300]}..."
