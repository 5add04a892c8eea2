"""What the control socket needs from the upstream watch. ``wiring`` implements it, the routes only translate."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from genesisd.control.ports import Peer
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
from genesisd.watch.decisions import Standing
from genesisd.watch.refs import Ref


class WatchApi(Protocol):
    """The watch, as seen by operators. Refusals are raised as GenesisError subclasses.

    Where no watchlist is configured, ``status`` says so, lists are empty, and all else raises ConflictError.
    None of these asks upstream, but for a sweep and for a dossier that is made anew.
    """

    async def status(self) -> WatchStatusView:
        """The watch in short."""
        ...

    async def rows(self) -> Sequence[WatchRowView]:
        """All rows, in the order of the file."""
        ...

    async def show(self, ref: Ref) -> WatchedView:
        """All there is to know about one pull request. Raises NotFoundError for one that was never asked about."""
        ...

    async def why(self, ref: Ref) -> WatchWhyView:
        """Why it stands as it does: state, each pin, what follows. Raises NotFoundError as ``show`` does."""
        ...

    async def report(self, sweep: int | None, form: str) -> ReportView:
        """The report of a sweep (None: of the newest that has one) as ``markdown`` or ``html``. Raises NotFoundError."""
        ...

    async def decisions(self, *, open_only: bool) -> Sequence[DecisionView]:
        """By urgency, the oldest of each first."""
        ...

    async def answer(
        self,
        id_: int,
        standing: Standing,
        peer: Peer,
        *,
        why: str,
        until: float | None = None,
        revisit_when: Sequence[str] = (),
    ) -> DecisionView:
        """What a person says to a decision: accepted, declined or snoozed ``until`` a wall time.

        Nothing is retired by it. Raises NotFoundError; ConflictError for a decision that has passed, and for
        accepting a retire candidate that no dossier lies before; ConfigError for a predicate that cannot be read.
        """
        ...

    async def dossiers(self, ref: Ref, patch: str | None, pin: str | None, *, anew: bool) -> Sequence[DossierView]:
        """Ours beside upstream's, whole, for each patch that ``ref`` concerns (or the one named) on each pin (or one).

        Those that were made are told; one that was not, or ``anew``, is made now, which takes up to minutes.
        Raises NotFoundError where there is nothing to compare, UnavailableError where it could not be done.
        """
        ...

    async def forget(self, ref: Ref, peer: Peer) -> ForgottenView:
        """Drop what is believed of ``ref``: upstream's answer, what pins have of it, its diffs and dossiers.

        The next sweep asks as if it never had. What people said to decisions stays. Raises NotFoundError where nothing
        is known, ConflictError while a sweep goes on.
        """
        ...

    async def sweep(self, kind: str, peer: Peer) -> SweepView:
        """Begin a sweep now, beside the schedule; where one goes on that does as much, that one. Returns once it has begun.

        Args:
            kind: ``nightly`` (all rows), ``hourly`` (P0 and P1), ``weekly`` (all, nothing taken from what was kept).
            peer: who asks.
        """
        ...

    def progress(self, sweep: int | None) -> AsyncIterator[SweepView]:
        """A sweep (None: the one that goes on, else the newest) as it is, each time it gets on, and at last as it ended.

        Ends after the view that has ``finished``. Who stops reading does not end the sweep. Raises NotFoundError.
        """
        ...
