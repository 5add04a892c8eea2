"""What a check of a watchlist can find. Pure data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FindingKind(StrEnum):
    """One kind of contradiction, dead letter or gap each."""

    CONTRADICTION = "contradiction"
    """Both sections have a row of the pull request, and they do not go together."""
    ISSUE_MERGED = "issue-merged"
    """An issue is said to be merged."""
    UNKNOWN_ID = "unknown-id"
    RETIRED_ID = "retired-id"
    """Every patch of the row has ended, or some of them."""
    REPEATED_ID = "repeated-id"
    PLANNED_TAKEN = "planned-id-taken"
    """The id that was planned stands for other work already."""
    PLANNED_DONE = "planned-is-done"
    """A patch that carries the pull request is there."""
    TRIGGER_DEAD = "trigger-can-never-fire"
    MERGED_BEFORE = "merged-before-the-row"
    """The row waits for a merge that was older than the row."""
    DATED_AHEAD = "dated-ahead"
    UNWATCHED = "unwatched"
    """An active patch carries a pull request that no row watches."""
    UNVERIFIED = "never-verified"
    """The file claims what upstream never was heard to say."""
    OUTDATED = "not-verified-lately"
    WRONG = "claim-is-wrong"
    """Upstream says otherwise."""
    DETECTION_WEAK = "detection-without-force"
    """What is to notice the merge cannot notice it."""
    TEST_UNRUN = "test-never-ran"
    """The test that is to notice it is there, and was not run on the pin that serves."""
    DUPLICATE_UNWATCHED = "duplicate-of-nothing"
    """``duplicate_of`` names what no row watches."""
    DUPLICATE_CIRCLE = "duplicate-circle"
    """Each is said to be a duplicate of the other, so that none of them is the one to follow."""
    MOVED = "moved"
    """The repository has another name now."""


class Level(StrEnum):
    """How much it matters."""

    ERROR = "error"
    """The row does not do what it is there for."""
    WARNING = "warning"
    """The row misleads."""
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was found.

    Attributes:
        kind: what class of thing.
        severity: how much it matters.
        line: of the row, from 1; 0 where no row stands for it.
        row: ``rows.row_id``, or "".
        text: what was found, against what.
        hint: how to mend it.
    """

    kind: FindingKind
    severity: Level
    line: int = 0
    row: str = ""
    text: str
    hint: str = ""
