"""Checks of a watchlist against itself, the register, and what is known of upstream. Pure, and offline.

Each kind of finding has its own rule; docs/watchlist.md has an example of each.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from genesisd.watch import check_claims, check_detection, check_ids, check_sections
from genesisd.watch.findings import Finding
from genesisd.watch.model import Known, PatchFact
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Watchlist
from genesisd.watch.view import View

RULES: tuple[Callable[[View], Iterator[Finding]], ...] = (
    check_sections.contradictions,
    check_sections.duplicates,
    check_claims.issue_merged,
    check_claims.wrong,
    check_claims.trigger_dead,
    check_claims.merged_before,
    check_claims.dated_ahead,
    check_claims.unverified,
    check_claims.outdated,
    check_claims.moved,
    check_ids.unknown_ids,
    check_ids.retired_ids,
    check_ids.repeated_ids,
    check_ids.planned_taken,
    check_ids.planned_done,
    check_ids.unwatched,
    check_detection.without_force,
    check_detection.unrun,
)


def check(
    watchlist: Watchlist,
    patches: Mapping[str, PatchFact],
    find: Callable[[str], str | None],
    known: Mapping[Ref, Known] | None,
    now: float,
    max_age: float,
    marked: Collection[Ref] | None = None,
    ran: Collection[str] | None = None,
) -> tuple[Finding, ...]:
    """All that is to be said about ``watchlist``, in the order of its lines; what no row stands for comes last.

    Args:
        watchlist: as read.
        patches: the register's facts by id.
        find: the id that a name means, or None.
        known: what upstream said; None where there is nothing to ask, and then no rule that needs it speaks.
        now: wall time, for ages.
        max_age: seconds after which an answer is too old to rest on.
        marked: pull requests that the markers file has; None where it was not read.
        ran: patches whose test was run on the pin that serves; None where there is nothing to ask.
    """
    view = View(
        watchlist=watchlist,
        patches=patches,
        find=find,
        known=known,
        now=now,
        max_age=max_age,
        marked=marked,
        ran=ran,
    )
    found = [finding for rule in RULES for finding in rule(view)]
    return tuple(sorted(found, key=lambda one: (one.line == 0, one.line)))
