"""The words a patch is described with: how far it is, what it consists of, where it comes from. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Lifecycle(StrEnum):
    """How far a patch is, on every pin alike; whether it applies to one pin is a verdict, not a lifecycle."""

    EXPERIMENTAL = "experimental"
    STABLE = "stable"
    LEGACY = "legacy"
    RESEARCH = "research"
    COORDINATOR = "coordinator"
    """Only a flag, that switches the patches it names."""
    DEPRECATED = "deprecated"
    RETIRED = "retired"
    TOMBSTONE = "tombstone"
    """An id that is burned: nothing may be built from it, override or not."""


class StableKind(StrEnum):
    """What a stable patch was proven by."""

    BEHAVIOUR = "behaviour"
    """Its test runs the patched code: red without the patch, green with it."""
    BENCH = "bench"
    """A trial measured the gain that it claims."""
    STATIC = "static"
    """It guards what cannot be reached in a test; review and anchors are all there is."""


class Implementation(StrEnum):
    """What there is of a patch."""

    FULL = "full"
    PARTIAL = "partial"
    MARKER_ONLY = "marker_only"
    PLACEHOLDER = "placeholder"
    LIBRARY = "library"
    DIAGNOSTIC = "diagnostic"
    COORDINATOR = "coordinator"
    SPEC_ONLY = "spec_only"
    """Described and allowed to have no edits, for the reason it states."""


WITH_EDITS = frozenset({Implementation.FULL, Implementation.PARTIAL, Implementation.DIAGNOSTIC})
"""What has something to apply."""


class Origin(StrEnum):
    """Where a patch comes from, which says what upstream's doings mean for it."""

    BACKPORT = "backport"
    REVERT = "revert"
    """Undoes a change of upstream's that made something worse."""
    DEFENSIVE = "defensive"
    ENABLER = "enabler"
    INVERSE = "inverse"
    RELATED = "related_not_superseding"
    PORT = "port"
    """From another engine."""
    ORIGINAL = "original"


def retires_on_merge(origin: Origin) -> bool:
    """Whether the code being upstream makes the patch a candidate for retirement; all others get a review.

    A revert whose pull request was merged, say, is needed *because* of the merge.
    """
    return origin is Origin.BACKPORT


class RetiredBecause(StrEnum):
    """Why a patch is retired."""

    MERGED = "merged"
    ABSORBED = "absorbed"
    ANCHOR_GONE = "anchor_gone"
    DISPROVEN = "disproven"
    REGRESSED = "regressed"
    SUPERSEDED = "superseded"
    """By the patch that ``Retirement.replaced_by`` names."""
    ABANDONED = "abandoned"


@dataclass(frozen=True, slots=True)
class Retirement:
    """Why a patch is retired, and what replaces it (an id, or None)."""

    because: RetiredBecause
    replaced_by: str | None = None


class Forwarded(StrEnum):
    """Whether upstream was offered the patch."""

    NO = "no"
    NOT_NEEDED = "not_needed"
    SUBMITTED = "submitted"
    ACCEPTED = "accepted"
    DENIED = "denied"
