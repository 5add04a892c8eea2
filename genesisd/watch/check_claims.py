"""Whether what the rows claim and wait for is what upstream says. Pure.

Where upstream never answered, a claim is unverified and no more: silence makes no row wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date

from genesisd.watch.findings import Finding, FindingKind, Level
from genesisd.watch.model import State
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Action, Row, SweepRow, Trigger, WatchRow
from genesisd.watch.view import View, about, day

_WAITS = frozenset({Action.PORT, Action.RETIRE})
"""What is done once the pull request is merged."""


def issue_merged(view: View) -> Iterator[Finding]:
    """Issues whose row claims that they were merged."""
    for row in view.watchlist.watch:
        pull = view.pull(row.upstream)
        if pull and pull.is_issue and row.status is State.MERGED:
            text = f"{row.upstream} is an issue, and issues are not merged"
            hint = f"write 'status: {pull.state}', or watch the pull request that closes it"
            yield about(row, FindingKind.ISSUE_MERGED, Level.ERROR, text, hint)


def trigger_dead(view: View) -> Iterator[Finding]:
    """Rows that wait for the merge of what was closed without one, or of an issue."""
    for row in view.rows():
        if isinstance(row, WatchRow) and row.action not in _WAITS:
            continue
        why = _never(view, row)
        if why:
            waits = f"action {row.action}" if isinstance(row, WatchRow) else row.trigger.value
            text = f"{why}, so {waits} waits for ever"
            hint = "watch what took its place, and let this row no longer wait"
            yield about(row, FindingKind.TRIGGER_DEAD, _weight(row), text, hint)


def merged_before(view: View) -> Iterator[Finding]:
    """Rows that were out of date when they were written."""
    for row in view.watchlist.watch:
        pull = view.pull(row.upstream)
        if pull is None or pull.merged_at is None or not _waited(row):
            continue
        merged = day(pull.merged_at)
        if date.fromisoformat(merged) < row.since:
            text = f"{row.upstream} was merged on {merged}, before the row was written ({row.since}) to wait for it"
            hint = "judge it as merged: the row has missed it from its first day"
            yield about(row, FindingKind.MERGED_BEFORE, Level.ERROR, text, hint)


def unverified(view: View) -> Iterator[Finding]:
    """Claims about which upstream never answered."""
    for row, ref, claim in _claims(view):
        if view.known is not None and view.pull(ref) is None:
            text = f"it claims that {ref} is {claim}, and upstream never answered about it{_why(view, ref)}"
            level = Level.WARNING if claim.startswith(State.MERGED) else Level.NOTICE
            yield about(row, FindingKind.UNVERIFIED, level, text, "sweep, and see why if it stays so")


def outdated(view: View) -> Iterator[Finding]:
    """Claims that were verified too long ago."""
    for row, ref, claim in _claims(view):
        pull = view.pull(ref)
        if pull and view.now - pull.checked_at > view.max_age:
            hours = (view.now - pull.checked_at) / 3600
            text = f"that {ref} is {claim} was last verified {hours:.0f} hours ago{_why(view, ref)}"
            yield about(row, FindingKind.OUTDATED, Level.WARNING, text, "see why the sweeps bring no answer")


def wrong(view: View) -> Iterator[Finding]:
    """Claims that upstream contradicts."""
    for row, ref, claim in _claims(view):
        pull = view.pull(ref)
        if pull is None or _state(claim) == pull.state or (pull.is_issue and claim == State.MERGED):
            continue
        text = f"it claims that {ref} is {claim}, and on {day(pull.checked_at)} upstream said {pull.state}"
        hint = "the next sweep corrects a status; a fix_status is yours to correct"
        yield about(row, FindingKind.WRONG, Level.ERROR, text, hint)


def moved(view: View) -> Iterator[Finding]:
    """Pull requests whose repository has another name now."""
    for row in view.rows():
        pull = view.pull(row.upstream)
        if pull and pull.now_at is not None and pull.now_at != row.upstream:
            text = f"{row.upstream} is {pull.now_at} now; the old name holds only until somebody else takes it"
            yield about(row, FindingKind.MOVED, Level.NOTICE, text, f"write {pull.now_at}")


def dated_ahead(view: View) -> Iterator[Finding]:
    """Rows of a day that is to come: by such a day every merge is older than its row."""
    # A day of grace: somewhere it is tomorrow already.
    latest = date.fromisoformat(day(view.now + 86400))
    for row in view.watchlist.watch:
        if row.since > latest:
            text = f"it is of {row.since}, and today is {day(view.now)}"
            yield about(row, FindingKind.DATED_AHEAD, Level.WARNING, text, "write the day on which the row was written")


def _why(view: View, ref: Ref) -> str:
    """Why the newest question about ``ref`` got no answer, where one failed."""
    known = (view.known or {}).get(ref)
    return f" ({known.unknown.why})" if known and known.unknown else ""


def _claims(view: View) -> Iterator[tuple[Row, Ref, str]]:
    """What the file says of upstream: the states that it has for rows and for their fixes."""
    for row in view.watchlist.watch:
        yield row, row.upstream, row.status.value
        if row.fix_upstream is not None and row.fix_status and _state(row.fix_status):
            yield row, row.fix_upstream, row.fix_status


def _state(claim: str) -> State | None:
    """The state that a claim begins with: ``open-NOT-in-pin`` claims that it is open, ``waits for review`` nothing."""
    word = re.split(r"[^a-z]", claim, maxsplit=1)[0]
    return State(word) if word in set(State) else None


def _never(view: View, row: Row) -> str:
    """Why the pull request of ``row`` will not be merged, or "". What upstream said goes before what the file says."""
    pull = view.pull(row.upstream)
    if pull is not None:
        if pull.is_issue:
            return f"{row.upstream} is an issue, which is never merged"
        return f"{row.upstream} was closed without a merge" if pull.state is State.CLOSED else ""
    claimed = row if isinstance(row, WatchRow) else view.watch_row(row.upstream)
    if claimed is not None and claimed.status is State.CLOSED:
        return f"the file says that {row.upstream} was closed without a merge"
    return ""


def _weight(row: Row) -> Level:
    """How much is lost when ``row`` waits for ever: a patch that would be carried on, a look, or nothing."""
    if isinstance(row, SweepRow) and row.watch_only:
        return Level.NOTICE
    return Level.WARNING if isinstance(row, SweepRow) and row.trigger is Trigger.REVIEW else Level.ERROR


def _waited(row: WatchRow) -> bool:
    return row.status is not State.MERGED or row.action in _WAITS
