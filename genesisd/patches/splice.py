"""Replacing spans of a text, all at once. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from genesisd.patches.scope import Span


@dataclass(frozen=True, slots=True)
class Cut:
    """One change of one file, in characters of the text before it.

    Attributes:
        edit: id of the edit.
        path: of the file.
        scope: as the edit declares it.
        variant: name of the form that matched.
        anchor: what the edit was found by, and claims for itself.
        at: what it takes away; empty, at the place, for an insertion.
        text: what stands in the anchor's place afterwards.
        home: lines of the definition that is its scope, or None for the module.
        landed: where ``text`` lies in the result.
    """

    edit: str
    path: str
    scope: str
    variant: str
    anchor: Span
    at: Span
    text: str
    home: Span | None = None
    landed: Span | None = None

    @property
    def growth(self) -> int:
        """Characters gained."""
        return len(self.text) - (self.anchor.end - self.anchor.start)


def collisions(cuts: Sequence[Cut]) -> Iterator[tuple[Cut, Cut]]:
    """Pairs of one file's cuts whose order would matter: they claim a character both, or insert at one place."""
    ordered = sorted(cuts, key=_position)
    for index, one in enumerate(ordered):
        for other in ordered[index + 1 :]:
            if other.anchor.start > one.anchor.end:
                break
            if one.anchor.overlaps(other.anchor) or _insert_together(one, other):
                yield one, other


def splice(text: str, cuts: Sequence[Cut]) -> tuple[str, tuple[Cut, ...]]:
    """The text with all cuts made, none of which collide, and the cuts with where they landed."""
    parts: list[str] = []
    landed: list[Cut] = []
    at = length = 0
    for cut in sorted(cuts, key=_position):
        kept = text[at : cut.anchor.start]
        parts += [kept, cut.text]
        start = length + len(kept)
        length = start + len(cut.text)
        landed.append(replace(cut, landed=Span(start, length)))
        at = cut.anchor.end
    return "".join([*parts, text[at:]]), tuple(landed)


def _insert_together(one: Cut, other: Cut) -> bool:
    return one.at == other.at and one.at.start == one.at.end


def _position(cut: Cut) -> tuple[int, int]:
    return cut.anchor.start, cut.anchor.end
