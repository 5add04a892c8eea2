"""The watch for the control socket: answers from what is kept, and passes orders on. Implements ``control.watch_ports.WatchApi``."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any

from genesisd.clock import Clock
from genesisd.control.ports import Peer
from genesisd.control.watch_views import (
    DecisionView,
    DossierView,
    ForgottenView,
    ReportView,
    ScheduledView,
    SweepView,
    WatchedView,
    WatchRowView,
    WatchStatusView,
    WatchWhyView,
)
from genesisd.errors import ConfigError, ConflictError, NotFoundError, UnavailableError
from genesisd.store.store import Store
from genesisd.supervisor.ports import EventSink
from genesisd.watch.claims import Swept
from genesisd.watch.decisions import Standing
from genesisd.watch.kinds import SweepKind
from genesisd.watch.refs import Ref
from genesisd.watch.rows import row_id
from genesisd.wiring import watch_views
from genesisd.wiring.no_watch import unwatched
from genesisd.wiring.watch_answers import Answering
from genesisd.wiring.watch_compare import Comparing
from genesisd.wiring.watch_forgetting import Forgetting
from genesisd.wiring.watch_reports import FORMS
from genesisd.wiring.watch_views import Looked
from genesisd.wiring.watch_why import why
from genesisd.wiring.watch_workers import WatchedWorkers
from genesisd.wiring.watching import Watching

RECENT = 10
BEGIN_SECONDS = 20.0
"""Longest wait for a sweep that was ordered to begin; another one may be at its end."""


class WatchDesk:
    """What operators ask and order.

    Args:
        watching: does the work.
        workers: facts for predicates.
        store, sink, clock: as everywhere.
    """

    def __init__(
        self, watching: Watching, workers: WatchedWorkers, store: Store, sink: EventSink, clock: Clock
    ) -> None:
        self._watching = watching
        self._store = store
        self._sink = sink
        self._clock = clock
        self._answering = Answering(watching, workers, store, sink, clock)
        self._comparing = Comparing(watching, store)
        self._forgetting = Forgetting(store, watching.grounds.diffs, clock)

    # --- asked often ------------------------------------------------------------------------------------------

    async def status(self) -> WatchStatusView:
        """The watch in short."""
        spec = self._watching.spec
        if spec.watchlist is None:
            return WatchStatusView(watchlist=None)
        looked, now = await self._watching.looked(), self._clock.wall()
        views = watch_views.rows(looked, now, spec.max_age)
        waits = [max(0.0, now - looked.waits_since(row.upstream, now)) for row in looked.rows()]
        made = [one.decision for one in looked.open()]
        asked = self._watching.asked
        return WatchStatusView(
            watchlist=str(spec.watchlist),
            rows=watch_views.by_state(views),
            oldest=max(waits, default=None),
            stale=len(looked.stale(now, spec.max_age)),
            decisions=dict(Counter(str(one.kind) for one in made)),
            urgent=dict(Counter(str(one.urgency) for one in made)),
            limit=asked.budget.limit,
            remaining=asked.budget.remaining,
            resets_at=asked.budget.resets_at,
            sweep=self._watching.progress.going,
            schedule=await self._scheduled(),
            recent=await self._recent(),
            troubles=self._troubles(looked),
        )

    async def rows(self) -> Sequence[WatchRowView]:
        """All rows, in the order of the file."""
        return watch_views.rows(await self._watching.looked(), self._clock.wall(), self._watching.spec.max_age)

    async def show(self, ref: Ref) -> WatchedView:
        """All there is to know about one pull request. Raises NotFoundError."""
        looked = await self._known(ref)
        dossiers = await self._store.watch_decisions.dossiers()
        return watch_views.watched(ref, looked, dossiers, self._clock.wall(), self._watching.spec.max_age)

    async def why(self, ref: Ref) -> WatchWhyView:
        """Why it stands as it does. Raises NotFoundError."""
        return WatchWhyView(ref=str(ref), text=why(await self.show(ref), self._clock.wall()))

    async def report(self, sweep: int | None, form: str) -> ReportView:
        """The report of a sweep. Raises NotFoundError."""
        self._refuse_unwatched()
        if form not in FORMS:
            raise ConfigError(f"expected one of {', '.join(FORMS)}, not {form!r}")
        number, at, text, path = await asyncio.to_thread(self._watching.reports.read, sweep, form)
        return ReportView(sweep=number, at=at, form=form, text=text, path=str(path))

    async def decisions(self, *, open_only: bool) -> Sequence[DecisionView]:
        """By urgency, the oldest of each first."""
        looked = await self._watching.looked()
        return watch_views.decisions(looked.open() if open_only else looked.kept)

    # --- answers ----------------------------------------------------------------------------------------------

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
        """What a person says to a decision; see the port."""
        self._refuse_unwatched()
        given = await self._answering.answer(id_, standing, peer, why=why, until=until, revisit_when=revisit_when)
        return watch_views.decision(given)

    # --- dossiers ---------------------------------------------------------------------------------------------

    async def dossiers(self, ref: Ref, patch: str | None, pin: str | None, *, anew: bool) -> Sequence[DossierView]:
        """Ours beside upstream's for each patch that ``ref`` concerns, on each pin; see the port."""
        return await self._comparing.dossiers(await self._known(ref), ref, patch, pin, anew=anew)

    async def forget(self, ref: Ref, peer: Peer) -> ForgottenView:
        """Drop what is believed of ``ref``; see the port."""
        await self._known(ref)
        if self._watching.progress.going is not None:
            hint = "once it is over: genesisctl watch sweep --wait"
            raise ConflictError("a sweep goes on, which would keep again what it has in hand", hint=hint)
        async with self._watching.turn:  # one that begins by now waits until all is gone
            self._sink.emit("order", verb="watch-forget", ref=str(ref), peer=str(peer))
            forgotten = await self._forgetting.forget(ref)
        await self._watching.refresh()
        return forgotten

    # --- sweeps -----------------------------------------------------------------------------------------------

    async def sweep(self, kind: str, peer: Peer) -> SweepView:
        """Begin a sweep now; where one goes on that does as much, that one. Returns once it has begun."""
        self._refuse_unwatched()
        await self._watching.begun(BEGIN_SECONDS)
        progress, wanted = self._watching.progress, SweepKind.NOW if kind == SweepKind.NIGHTLY else SweepKind(kind)
        if progress.going is not None and SweepKind(progress.going.kind).does(wanted):
            return progress.going
        self._sink.emit("order", verb="watch-sweep", sort=kind, peer=str(peer))
        before = progress.view
        swept = self._watching.order(wanted)
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                while (found := self._begun(before, wanted)) is None and not swept.done():
                    await _first(progress.change, swept)
        except TimeoutError:
            hint = "genesisctl watch status shows it"
            raise ConflictError("the sweep has not begun yet, and comes after the one before it", hint=hint) from None
        if found is None:
            swept.result()  # raises why it could not begin
            found = progress.view  # it is over, and perhaps another one goes on by now
        if found is None:
            raise UnavailableError("the sweep did not begin", hint="the daemon's log tells why")
        return found

    def _begun(self, before: SweepView | None, wanted: SweepKind) -> SweepView | None:
        """The sweep that began since ``before`` and does what is wanted."""
        view = self._watching.progress.view
        if view is None or (before is not None and view.id == before.id):
            return None
        return view if SweepKind(view.kind).does(wanted) else None

    async def progress(self, sweep: int | None) -> AsyncIterator[SweepView]:
        """A sweep as it is, each time it gets on, and at last as it ended. Raises NotFoundError."""
        view = self._watching.progress.view
        if view is not None and sweep in {None, view.id}:
            sweep, last = view.id, view
            async for last in self._watching.progress.follow(view.id):
                yield last
            if last.finished is not None:
                return
        ended = await self._store.watch_ledger.list(limit=1000)
        found = next((one for one in ended if sweep is None or one.id == sweep), None)
        if found is None:
            raise NotFoundError("there was no sweep yet" if sweep is None else f"no sweep {sweep} is known")
        yield watch_views.swept(found)

    async def _known(self, ref: Ref) -> Looked:
        self._refuse_unwatched()
        looked = await self._watching.looked()
        rows = {row_id(row) for row in looked.rows() if row.upstream == ref}
        if ref not in looked.known and not rows:
            raise NotFoundError(f"nothing is known of {ref}", hint="genesisctl watch list shows what is watched")
        return looked

    def _refuse_unwatched(self) -> None:
        if self._watching.spec.watchlist is None:
            unwatched()

    async def _recent(self) -> tuple[SweepView, ...]:
        newest = await self._store.watch_ledger.list(limit=RECENT + 1)
        return tuple(watch_views.swept(one) for one in newest if one.finished is not None)[:RECENT]

    async def _scheduled(self) -> tuple[ScheduledView, ...]:
        due = self._watching.due()
        found = []
        for kind in (SweepKind.NIGHTLY, SweepKind.HOURLY, SweepKind.WEEKLY):
            last = await self._store.watch_ledger.last(str(kind))
            found.append(ScheduledView(kind=str(kind), due=due.get(str(kind)), last=None if last is None else last[1]))
        return tuple(found)

    def _troubles(self, looked: Looked) -> tuple[str, ...]:
        spec = self._watching.spec
        found = [looked.trouble] if looked.trouble else []
        if spec.mirror is None:
            found.append("no mirror is configured: whether a merge is in a pin's history stays unknown")
        if spec.token.file is None and spec.token.credential is None:
            found.append("no token is configured: upstream lets sixty questions an hour through")
        return (*found, *self._watching.troubles)


async def _first(change: asyncio.Event, swept: asyncio.Future[Swept]) -> None:
    """Wait for either."""
    changed = asyncio.ensure_future(change.wait())
    waited: set[asyncio.Future[Any]] = {changed, swept}
    try:
        await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
    finally:
        changed.cancel()
