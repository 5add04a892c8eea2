"""What planning one patch came to. Pure data; only ``Applied`` holds texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from genesisd.patches.edits import Marker
from genesisd.patches.splice import Cut


class Fault(StrEnum):
    """Why a patch failed although its places were found, or could not be looked for."""

    NOT_PYTHON = "not_python"
    """The file, before any edit, does not parse."""
    MIXED_ENDINGS = "mixed_endings"
    """The file has several kinds of line ending: no edit can say which it means."""
    SYNTAX = "syntax"
    """The result is not valid Python."""
    LINE_ENDING = "line_ending"
    """The result has another kind of line ending, or another final one."""
    OUT_OF_SCOPE = "out_of_scope"
    """The new text ends its scope early, or leaves it otherwise."""
    OVERLAP = "overlap"
    """Two edits, of one patch or of two without a declared order, want the same text."""
    HALF_APPLIED = "half_applied"
    """Some of the patch is there already, and some is not."""
    UNRECOGNISABLE = "unrecognisable"
    """The result could not be told from text without the patch: the anchor must be wider."""
    FILE_EXISTS = "file_exists"
    """A new file would replace another."""
    FILE_CHANGED = "file_changed"
    """A whole-file replacement was written against another content."""
    BASE_MISSING = "base_missing"
    """An edit stands on the output of a patch that is not applied."""
    UNDECLARED_BASE = "undeclared_base"
    """An anchor is found only in the output of another patch, and the edit does not say ``after``."""


@dataclass(frozen=True, slots=True)
class Applied:
    """All that is required holds.

    Attributes:
        texts: the changed and the new files, by path, and no others.
        cuts: the edits in place, with their spans before and after.
        whole: paths of new and of replaced files.
        skipped: optional edits that found no place, or stand there already.
    """

    texts: Mapping[str, str]
    cuts: tuple[Cut, ...] = ()
    whole: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AlreadyApplied:
    """The text is what the patch makes of some text without it: the same patch, or upstream word for word.

    Attributes:
        claims: where that text stands, so that no other patch changes it unasked.
    """

    claims: tuple[Cut, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Superseded:
    """Upstream's own fix is in the pristine file."""

    marker: Marker


@dataclass(frozen=True, slots=True)
class NotApplicable:
    """Nothing to apply, and why."""

    reason: str


@dataclass(frozen=True, slots=True)
class AnchorMissing:
    """No form of the anchor stands in its scope; ``elsewhere`` names scopes of the file that hold one."""

    edit: str
    path: str
    scope: str
    elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnchorAmbiguous:
    """The anchor, or several of its forms, stand in ``count`` places."""

    edit: str
    path: str
    scope: str
    count: int


@dataclass(frozen=True, slots=True)
class TargetMissing:
    """There is no such file, or (with ``scope``) no such class or function in it."""

    edit: str
    path: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """It may not be applied; ``detail`` says what was found."""

    fault: Fault
    path: str
    detail: str
    edits: tuple[str, ...] = ()


Refusal: TypeAlias = NotApplicable | AnchorMissing | AnchorAmbiguous | TargetMissing | Failed
Outcome: TypeAlias = Applied | AlreadyApplied | Superseded | Refusal
