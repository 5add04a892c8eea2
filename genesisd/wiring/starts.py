"""What one incarnation was started with, as the store keeps it: the next daemon has to know what it adopts. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

KEPT = frozenset({"applied", "already_applied", "superseded"})
"""Verdicts on a patch whose effect is there, by it or by upstream."""
APPLIED = frozenset({"applied", "already_applied"})
"""Verdicts on patches that are in a build."""
CHOSEN_OFF = frozenset({"disabled", "retired", "quarantined"})
"""Verdicts that somebody decided on: what is switched off by a word is not lost."""
QUIET = frozenset({"not_enabled"})
"""Verdicts that are not worth a line: nobody asked for the patch."""


@dataclass(frozen=True, slots=True)
class PatchNote:
    """What became of one patch: the verdict's word, and what was found."""

    verdict: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class Start:
    """One start.

    Attributes:
        build: name of the build, or None for the plain pin.
        patches: the verdict on each implemented patch, by id.
        lost: ids whose effect was there at the last good start, and is not now, though nobody switched them off.
        warnings: what a person should know.
        incarnation: which life it began.
        pin: id of the pin; None in what an older version of this program kept.
        model: what it served; None where that is not known.
    """

    build: str | None
    patches: Mapping[str, PatchNote] = field(default_factory=dict)
    lost: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    incarnation: int = 0
    pin: str | None = None
    model: str | None = None

    def to_json(self) -> dict[str, Any]:
        """For the store."""
        return asdict(self)


def from_json(kept: Any) -> Start | None:
    """What the store kept, or None for nothing, or for words of another version of this program."""
    try:
        patches = {name: PatchNote(**note) for name, note in kept["patches"].items()}
        lost, warnings = tuple(kept["lost"]), tuple(kept["warnings"])
        return Start(
            kept["build"], patches, lost, warnings, int(kept["incarnation"]), kept.get("pin"), kept.get("model")
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        return None


def in_build(start: Start) -> tuple[str, ...]:
    """Ids of the patches that a start's build has in it."""
    return tuple(name for name, note in start.patches.items() if note.verdict in APPLIED) if start.build else ()


def absent(start: Start) -> tuple[str, ...]:
    """Ids of the patches whose effect the start had not: a twin of it must not have them either.

    Not told by the configuration: it may enable what is in quarantine, or what the worker was taken back from.
    """
    return tuple(name for name, note in start.patches.items() if note.verdict not in KEPT)


def lost(good: Start | None, now: Mapping[str, PatchNote]) -> tuple[str, ...]:
    """What the last good start had and this one lacks, unless it was switched off by a word."""
    if good is None:
        return ()
    had = (name for name, note in good.patches.items() if note.verdict in KEPT)
    return tuple(name for name in had if _verdict(now, name) not in KEPT | CHOSEN_OFF)


def _verdict(notes: Mapping[str, PatchNote], name: str) -> str:
    return notes[name].verdict if name in notes else "unknown"


def summary(start: Start) -> dict[str, Any]:
    """The boot summary: ids by what became of them; those that nobody asked for are left out."""
    by_verdict: dict[str, list[str]] = {}
    for name, note in start.patches.items():
        if note.verdict not in QUIET:
            by_verdict.setdefault(note.verdict, []).append(name)
    return {"build": start.build, "patches": by_verdict, "lost": list(start.lost)}
