r"""What a patch does to files: edits at an exact anchor inside a named scope, new files, whole replacements. Pure data.

Anchors and texts are written with ``\n``; the engine speaks the line ending of the file that it edits.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

MODULE = ""
"""The scope that is the file itself, less what its classes and functions hold."""


class Placement(StrEnum):
    """Where the text goes, seen from the anchor."""

    BEFORE = "before"
    AFTER = "after"
    REPLACE = "replace"


@dataclass(frozen=True, slots=True)
class Variant:
    """One form that the place may have. Of an edit's variants exactly one may match."""

    anchor: str
    text: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """Text that tells one form of the engine from another.

    Attributes:
        path: of the file, relative to the tree.
        text: the exact text.
        scope: qualified name within which it counts, nested definitions included, or ``MODULE`` for the whole file.
    """

    path: str
    text: str
    scope: str = MODULE


@dataclass(frozen=True, slots=True)
class AnchorEdit:
    """A change at the one place where an anchor stands.

    Attributes:
        id: unique within the patch.
        path: of the file, relative to the tree, with ``/``.
        scope: qualified name of the class or function whose *own* text holds the anchor, as Python has it
            (``Scheduler.schedule``, ``outer.<locals>.inner``), or ``MODULE``. Text of a definition nested in
            the scope is not its own, so that nothing lands in a twin.
        variants: forms of the place on different pins; they exclude each other.
        placement: where the text goes.
        required: without it the patch is not applied; an optional edit that finds no anchor is skipped and told.
        unless: what shows that an optional edit has nothing to do. Where its anchor is gone and this is not there,
            the place has merely changed: skipping the edit would pass off half a patch as applied.
        after: id of the patch on whose output this anchor stands, or None for pristine text.
    """

    id: str
    path: str
    scope: str
    variants: tuple[Variant, ...]
    placement: Placement = Placement.REPLACE
    required: bool = True
    after: str | None = None
    unless: Marker | None = None

    def written(self, variant: Variant) -> str:
        """What stands in the place of the anchor once ``variant`` is applied."""
        match self.placement:
            case Placement.BEFORE:
                return variant.text + variant.anchor
            case Placement.AFTER:
                return variant.anchor + variant.text
            case Placement.REPLACE:
                return variant.text


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that the pristine tree does not have."""

    id: str
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """A whole file put in the place of the one it was written against.

    Attributes:
        id: unique within the patch.
        path: of the file, relative to the tree.
        text: the new content, with the line endings it shall have.
        pristine: SHA-256 of the UTF-8 bytes that it may replace; any other content is left alone.
    """

    id: str
    path: str
    text: str
    pristine: str


Edit: TypeAlias = AnchorEdit | NewFile | ReplaceFile


def new_texts(edit: Edit) -> tuple[str, ...]:
    """Each text that the edit may bring into a file."""
    if isinstance(edit, AnchorEdit):
        return tuple(variant.text for variant in edit.variants)
    return (edit.text,)


def replacing(id: str, path: str, scope: str, anchor: str, text: str) -> AnchorEdit:  # noqa: A002 - the field's name
    """The plain case: one form, replaced."""
    return AnchorEdit(id, path, scope, (Variant(anchor, text),))
