"""Whether the rows go together: the two sections, and the rows that say that others say the same. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from genesisd.watch.findings import Finding, FindingKind, Level
from genesisd.watch.model import State
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Action, Row, SweepRow, Trigger, WatchRow
from genesisd.watch.view import View, about, several

_APART = {
    (Action.RETIRE, Trigger.REANCHOR): "one gives the patch up on the merge, the other takes it along",
    (Action.DRIFT_CHECK, Trigger.RETIRE): "one keeps the patch fit for the pin that has it, the other gives it up",
    (Action.PORT, Trigger.RETIRE): "one takes it over on the merge, the other gives ours up",
}
"""What a watch row is for, and what a sweep row asks for, that cannot both be meant."""


def contradictions(view: View) -> Iterator[Finding]:
    """Pull requests with a row in each section that do not go together; told at the sweep row."""
    for row in view.watchlist.sweep:
        other = view.watch_row(row.upstream)
        if other is None:
            continue
        for text, hint in _between(view, other, row):
            yield about(row, FindingKind.CONTRADICTION, Level.ERROR, f"{text} (line {other.line})", hint)


def duplicates(view: View) -> Iterator[Finding]:
    """Rows that are a duplicate of something that nobody watches, or of one another."""
    rows = {row.upstream: row for row in view.rows() if row.duplicate_of is not None}
    watched = {row.upstream for row in view.rows()}
    for row in view.rows():
        if row.duplicate_of is None:
            continue
        if row.duplicate_of not in watched:
            text = f"it is a duplicate of {row.duplicate_of}, which no row watches"
            hint = f"add a row for {row.duplicate_of}, or take duplicate_of out"
            yield about(row, FindingKind.DUPLICATE_UNWATCHED, Level.ERROR, text, hint)
        elif circle := _circle(row, rows):
            text = f"none of them is the first: {' -> '.join(map(str, circle))}"
            hint = "take duplicate_of out of the one to follow"
            yield about(row, FindingKind.DUPLICATE_CIRCLE, Level.ERROR, text, hint)


def _between(view: View, watch: WatchRow, sweep: SweepRow) -> Iterator[tuple[str, str]]:
    waits = f"{sweep.trigger} waits for a merge"
    if watch.status is State.CLOSED and sweep.trigger is not Trigger.REVIEW:
        hint = "take the trigger back to review-on-merge, or watch what took its place"
        yield f"{waits}, and watch has {watch.upstream} as closed without one", hint
    if watch.status is State.MERGED and sweep.trigger is not Trigger.REVIEW:
        yield f"{waits}, and watch has {watch.upstream} as merged", "do what the trigger asks for, then review-on-merge"
    if (watch.action, sweep.trigger) in _APART:
        why = _APART[watch.action, sweep.trigger]
        yield f"{sweep.trigger} does not go with action {watch.action}: {why}", "say in both what is meant"
    ours, theirs = (_names(view, row) for row in (sweep, watch))
    if sweep.watch_only and theirs:
        yield f"it names no patch, and watch names {several(sorted(theirs))}", "name the patches in both, or in none"
    elif ours and theirs and not ours & theirs:
        text = f"it names {several(sorted(ours))}, and watch names {several(sorted(theirs))}"
        yield text, "name the same patches in both"


def _names(view: View, row: Row) -> set[str]:
    return {view.find(name) or name for name in row.patches}


def _circle(row: Row, rows: dict[Ref, Row]) -> list[Ref]:
    """The way from ``row`` back to itself, if there is one."""
    way, at = [row.upstream], row.duplicate_of
    while at is not None and at not in way:
        way.append(at)
        at = rows[at].duplicate_of if at in rows else None
    return [*way, at] if at is not None and at == row.upstream else []
