"""What can be wrong with a catalog of patches, as it is written. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class ProblemKind(StrEnum):
    """The classes of mistake."""

    DUPLICATE_ID = "duplicate_id"
    DUPLICATE_EDIT = "duplicate_edit"
    DUPLICATE_NAME = "duplicate_name"
    """Two flags or parameters answer to one variable."""
    UNKNOWN_REFERENCE = "unknown_reference"
    CYCLE = "cycle"
    """Patches that wait for one another; ids in the text."""
    SELF_CONFLICT = "self_conflict"
    """What it requires, or stands on, is what it must not be with."""
    BAD_RANGE = "bad_range"
    BAD_PARAMETER = "bad_parameter"
    BAD_PATH = "bad_path"
    BAD_EDIT = "bad_edit"
    """An anchor or a text that cannot be found again, or that changes nothing."""
    MARKER_IN_PATCH = "marker_in_patch"
    """A patch brings the very text by which upstream's fix is recognised."""
    STABLE_KIND = "stable_kind"
    STUDY = "study"
    """A stable backport that does not say what was learned of upstream's own."""
    RETIREMENT = "retirement"
    PARTS = "parts"
    """A coordinator without parts, or parts without a coordinator."""
    NO_EDITS = "no_edits"
    """Nothing to apply, and no reason given."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: in which patch (and edit), what was found and what was expected."""

    kind: ProblemKind
    patch: str
    text: str
    edit: str = ""
