"""What a daemon answers that watches nothing: ``control.watch_ports.WatchApi`` with nothing behind it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, NoReturn

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
from genesisd.errors import ConflictError
from genesisd.watch.refs import Ref


def unwatched() -> NoReturn:
    """Raises ConflictError, with how to have something watched."""
    raise ConflictError("nothing is watched", hint="set 'watch: {watchlist: FILE}' in the configuration")


class NoWatch:
    """Says so; its lists are empty."""

    async def status(self) -> WatchStatusView:
        """That nothing is watched."""
        return WatchStatusView(watchlist=None)

    async def rows(self) -> Sequence[WatchRowView]:
        """None."""
        return ()

    async def decisions(self, *, open_only: bool) -> Sequence[DecisionView]:  # noqa: ARG002 - the port's
        """None."""
        return ()

    async def show(self, _ref: Ref) -> WatchedView:
        """Refused."""
        unwatched()

    async def why(self, _ref: Ref) -> WatchWhyView:
        """Refused."""
        unwatched()

    async def report(self, _sweep: int | None, _form: str) -> ReportView:
        """Refused."""
        unwatched()

    async def answer(self, *_: Any, **_said: Any) -> DecisionView:
        """Refused."""
        unwatched()

    async def dossiers(self, _ref: Ref, _patch: str | None, _pin: str | None, *, anew: bool) -> Sequence[DossierView]:  # noqa: ARG002 - the port's
        """Refused."""
        unwatched()

    async def forget(self, _ref: Ref, _peer: Peer) -> ForgottenView:
        """Refused."""
        unwatched()

    async def sweep(self, _kind: str, _peer: Peer) -> SweepView:
        """Refused."""
        unwatched()

    async def progress(self, _sweep: int | None) -> AsyncIterator[SweepView]:
        """Refused."""
        unwatched()
        yield  # type: ignore[unreachable]  # else it would be no stream
