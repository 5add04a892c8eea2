"""Writes the answers about the upstream watch as JSON text."""

from __future__ import annotations

from collections.abc import Iterable

from genesisd.control.jsontext import answer, plain, whole
from genesisd.control.watch_views import (
    DecisionView,
    DossierView,
    ForgottenView,
    ReportView,
    SweepView,
    WatchedView,
    WatchRowView,
    WatchStatusView,
    WatchWhyView,
)


def status(view: WatchStatusView) -> str:
    """Answer of GET /v1/watch."""
    return whole(view)


def rows(views: Iterable[WatchRowView]) -> str:
    """Answer of GET /v1/watch/rows."""
    return answer(rows=[plain(view) for view in views])


def watched(view: WatchedView) -> str:
    """Answer of GET /v1/watch/pull."""
    return whole(view)


def why(view: WatchWhyView) -> str:
    """Answer of GET /v1/watch/why."""
    return whole(view)


def report(view: ReportView) -> str:
    """Answer of GET /v1/watch/report."""
    return whole(view)


def decisions(views: Iterable[DecisionView]) -> str:
    """Answer of GET /v1/watch/decisions."""
    return answer(decisions=[plain(view) for view in views])


def decision(view: DecisionView) -> str:
    """Answer of POST /v1/watch/decisions/ID/accept, decline and snooze."""
    return answer(decision=plain(view))


def dossiers(views: Iterable[DossierView]) -> str:
    """Answer of POST /v1/watch/dossiers."""
    return answer(dossiers=[plain(view) for view in views])


def forgotten(view: ForgottenView) -> str:
    """Answer of POST /v1/watch/forget."""
    return answer(forgotten=plain(view))


def sweep(view: SweepView) -> str:
    """Answer of POST /v1/watch/sweep, and without its end of line a line of GET /v1/watch/progress."""
    return answer(sweep=plain(view))


def progress(view: SweepView) -> str:
    """One line of GET /v1/watch/progress."""
    return sweep(view) + "\n"
