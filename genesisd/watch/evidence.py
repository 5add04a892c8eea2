"""What upstream's answer changes in a watchlist, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from genesisd.watch.model import Known, Pull, State
from genesisd.watch.refs import Ref
from genesisd.watch.result import StatusChange
from genesisd.watch.rows import Row, WatchRow, row_id


def changes(rows: Iterable[Row], known: Mapping[Ref, Known], since: float) -> tuple[StatusChange, ...]:
    """The status lines that an answer of this sweep (which began at ``since``) contradicts.

    A row about which upstream could not be asked stays as it is, whatever was known before.
    """
    found = []
    for row in rows:
        if not isinstance(row, WatchRow):
            continue
        pull = answered(known.get(row.upstream), since)
        if pull is not None and pull.state is not row.status:
            text = told(pull, row.status)
            found.append(
                StatusChange(
                    row=row_id(row),
                    line=row.line,
                    ref=row.upstream,
                    before=row.status,
                    after=pull.state,
                    evidence=text,
                )
            )
    return tuple(found)


def answered(known: Known | None, since: float) -> Pull | None:
    """The answer that came within this sweep, or None."""
    if known is None or known.pull is None or known.unknown is not None or known.pull.checked_at < since:
        return None
    return known.pull


def told(pull: Pull, before: State) -> str:
    """Such as ``upstream 2026-11-30: merged 2026-06-12 as 0cd9b7af25 (was open)``."""
    sort = "issue " if pull.is_issue else ""
    return f"upstream {day(pull.checked_at)}: {sort}{happened(pull)} (was {before})"


def happened(pull: Pull) -> str:
    """The state with its day and commit, as far as they are known."""
    match pull.state:
        case State.MERGED:
            at = "" if pull.merged_at is None else f" {day(pull.merged_at)}"
            return f"merged{at}" + ("" if pull.merge_commit is None else f" as {pull.merge_commit[:10]}")
        case State.CLOSED:
            at = "" if pull.closed_at is None else f" {day(pull.closed_at)}"
            return f"closed{at}" + ("" if pull.is_issue else " without a merge")
        case State.OPEN:
            return "open" + (", a draft" if pull.draft else "")


def day(at: float) -> str:
    """The date in UTC."""
    return datetime.fromtimestamp(at, UTC).date().isoformat()
