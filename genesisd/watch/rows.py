"""The rows of a watchlist, as people write them. Pure data; ``watchlist`` reads them and ``edit`` changes them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from genesisd.watch.model import State
from genesisd.watch.refs import Ref


class Action(StrEnum):
    """What a watch row is for."""

    WATCH = "watch"
    DRIFT_CHECK = "drift-check"
    """See on every pin that the anchors of its patches still hold."""
    AB_TEST = "a-b-test"
    """Try it with and without."""
    RETIRE = "retire"
    """Once its content is in a pin, give our patch up."""
    PORT = "port"
    """Once merged, take it over."""
    COOKBOOK = "cookbook"
    """Advice for operators; a page tells it."""


class Trigger(StrEnum):
    """What a merge of a sweep row asks for."""

    REVIEW = "review-on-merge"
    RETIRE = "retire-on-merge"
    REANCHOR = "reanchor-on-merge"


class Detection(StrEnum):
    """How a sweep row's trigger would be noticed."""

    ANCHOR = "anchor"
    TEST = "test"
    MANUAL = "manual"
    MARKERS = "UPSTREAM_MARKERS"


class Severity(StrEnum):
    """How bad it is where it strikes; the first of each class is the worst. Rows may say more after the class."""

    P0 = "P0"
    P1 = "P1"
    P2 = "P2"
    P3 = "P3"


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRow:
    """One row of ``watch``.

    Attributes:
        index: its place in the section, from 0.
        line: in the file, from 1.
        upstream: what is watched.
        status: what the file claims.
        action: what for.
        since: when it was written down.
        patches: ids in ``local_patches``, as written.
        notes: free text.
        severity: as written, such as ``P0-correctness``, or None.
        affects: names in ``affects_models``.
        fix_upstream: the pull request that mends what this one broke.
        fix_status: as written.
        duplicate_of: the row that says the same of another pull request.
    """

    index: int
    line: int
    upstream: Ref
    status: State
    action: Action
    since: date
    patches: tuple[str, ...] = ()
    notes: str = ""
    severity: str | None = None
    affects: tuple[str, ...] = ()
    fix_upstream: Ref | None = None
    fix_status: str | None = None
    duplicate_of: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepRow:
    """One row of ``sweep``.

    Attributes:
        index, line: as in WatchRow.
        upstream: what ``pr`` means.
        patches: ids it names; empty for ``watch-only``.
        planned: the text after ``planned:``, or None.
        planned_ids: ids found in that text.
        watch_only: it names no patch on purpose.
        trigger, detection: what a merge asks for, and how that would be noticed.
        note: free text.
        duplicate_of: as in WatchRow.
    """

    index: int
    line: int
    upstream: Ref
    patches: tuple[str, ...] = ()
    planned: str | None = None
    planned_ids: tuple[str, ...] = ()
    watch_only: bool = False
    trigger: Trigger = Trigger.REVIEW
    detection: Detection = Detection.ANCHOR
    note: str = ""
    duplicate_of: Ref | None = None


Row = WatchRow | SweepRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Watchlist:
    """A file that was read whole. ``file`` names it; ``digest`` is the SHA-256 of its bytes."""

    file: str
    digest: str
    watch: tuple[WatchRow, ...] = ()
    sweep: tuple[SweepRow, ...] = ()

    def refs(self) -> tuple[Ref, ...]:
        """Every ref that a row watches or names as a fix, each once, in the order of the file."""
        found = [ref for row in self.watch for ref in (row.upstream, row.fix_upstream) if ref is not None]
        return tuple(dict.fromkeys((*found, *(row.upstream for row in self.sweep))))


def row_id(row: Row) -> str:
    """``watch:vllm#1`` or ``sweep:vllm#1``: what stays when rows move in the file."""
    return f"{'watch' if isinstance(row, WatchRow) else 'sweep'}:{row.upstream}"
