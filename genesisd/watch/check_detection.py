"""Whether what is to notice a merge could notice it. Pure.

Only rows whose trigger leads to work are looked at, but for tests and markers, which somebody asked for by name. What
is noticed by hand has its force: the merge opens a decision.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from genesisd.watch.findings import Finding, FindingKind, Level
from genesisd.watch.rows import Detection, SweepRow, Trigger
from genesisd.watch.view import View, about, several


def without_force(view: View) -> Iterator[Finding]:
    """Rows whose detection has nothing to go by."""
    for row in view.watchlist.sweep:
        found = _fault(view, row)
        if found:
            level = Level.ERROR if row.trigger is Trigger.REANCHOR else Level.WARNING
            text, hint = found
            yield about(row, FindingKind.DETECTION_WEAK, level, f"detection {row.detection}: {text}", hint)


def unrun(view: View) -> Iterator[Finding]:
    """Rows whose test exists, and was never run where it is to notice something."""
    if view.ran is None:
        return
    for row in view.watchlist.sweep:
        if row.detection is not Detection.TEST:
            continue
        proven = [fact for fact in view.bound(row) if fact.proven_by and not fact.retired]
        if proven and not any(fact.id in view.ran for fact in proven):
            names = several([f"{fact.id} ({fact.proven_by})" for fact in proven])
            hint = (
                f"genesisctl watch diff {row.upstream} --patch {proven[0].id} --anew runs it, and says why if it cannot"
            )
            text = f"detection test: that of {names} was not run on the pin that serves"
            yield about(row, FindingKind.TEST_UNRUN, Level.WARNING, text, hint)


def _fault(view: View, row: SweepRow) -> tuple[str, str] | None:
    match row.detection:
        case Detection.ANCHOR:
            return _anchor(view, row)
        case Detection.TEST:
            return _test(view, row)
        case Detection.MARKERS:
            if view.marked is None or row.upstream in view.marked:
                return None
            return f"there are no markers of {row.upstream}", "add them to the markers file, or write detection: manual"
        case Detection.MANUAL:
            return None
    assert_never(row.detection)


def _anchor(view: View, row: SweepRow) -> tuple[str, str] | None:
    if row.trigger is Trigger.REVIEW or row.planned is not None:
        return None
    hint = "write detection: manual, so that a merge opens a decision"
    bound = view.bound(row)
    if not bound:
        return "the row is bound to no patch that could have an anchor", hint
    names = several([fact.id for fact in bound])
    if not any(fact.active for fact in bound):
        return (
            f"{names} {'is' if len(bound) == 1 else 'are'} not active here, so there is no anchor that could break",
            hint,
        )
    if not any(fact.active and fact.required for fact in bound):
        return f"{names} can do without each of its edits, so a broken anchor passes in silence", hint
    return None


def _test(view: View, row: SweepRow) -> tuple[str, str] | None:
    bound = view.bound(row)
    if any(fact.proven_by and not fact.retired for fact in bound):
        return None
    names = several([fact.id for fact in bound]) or "the row"
    return f"there is no test for {names}", "write the behaviour test, or detection: manual"
