"""What one process of an engine says of itself, read strictly. Pure.

A report is written by code that runs in the engine: it is believed in what it found, and checked in its form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from genesisd.attest.expected import Key, check_format
from genesisd.attest.roles import Role

STATES = frozenset({"live", "not_loaded", "missing"})


@dataclass(frozen=True, slots=True)
class Sighting:
    """How one item was found.

    Attributes:
        state: live, not_loaded (its module is not imported) or missing (its module has no such thing).
        digest: of what is alive; '' where none could be made.
        origin: file of the module, or the one it would be loaded from; '' if unknown.
        note: what the reporter adds, where the code stands, say.
    """

    state: str
    digest: str = ""
    origin: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """One process.

    Attributes:
        start_ticks: the kernel's start time; tells it from an earlier process that had its pid.
        build: name of the build whose plugin wrote this.
        vllm: file of the package that the process imported; '' if none yet.
        hits: by patch, how often its proof of life was seen.
        skips: by patch and reason, how often it stood aside.
        faults: what the plugin itself could not do.
        seq: number of the report; it rises.
    """

    pid: int
    start_ticks: int
    role: Role
    title: str
    build: str
    vllm: str
    items: Mapping[Key, Sighting]
    python: str = ""
    optimize: int = 0
    hits: Mapping[str, int] = field(default_factory=dict)
    skips: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    seq: int = 0
    at: float = 0.0


def read_report(text: str) -> Report:
    """Raises ValueError, with a sentence that says why, when this is not a report of this format."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    try:
        return _report(found)
    except KeyError as error:
        raise ValueError(f"it has no field {error}") from error
    except (TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"it is laid out otherwise: {error}") from error


def _report(found: Mapping[str, Any]) -> Report:
    check_format(found["format"])
    return Report(
        pid=int(found["pid"]),
        start_ticks=int(found["start_ticks"]),
        role=Role(found["role"]),
        title=str(found["title"]),
        build=str(found["build"]),
        vllm=str(found["vllm"]),
        items=dict(_sighting(one) for one in found["items"]),
        python=str(found["python"]),
        optimize=int(found.get("optimize", 0)),
        hits={str(patch): int(count) for patch, count in found["hits"].items()},
        skips={str(patch): _counts(reasons) for patch, reasons in found["skips"].items()},
        faults=tuple(map(str, found.get("faults", ()))),
        seq=int(found["seq"]),
        at=float(found["at"]),
    )


def _sighting(one: Mapping[str, Any]) -> tuple[Key, Sighting]:
    if one["state"] not in STATES:
        raise ValueError(f"an item is {one['state']!r}, which is none of {', '.join(sorted(STATES))}")
    key = (str(one["module"]), str(one["name"]), str(one["kind"]))
    return key, Sighting(one["state"], str(one["digest"]), str(one["origin"]), str(one.get("note", "")))


def _counts(reasons: Mapping[str, Any]) -> dict[str, int]:
    return {str(reason): int(count) for reason, count in reasons.items()}
