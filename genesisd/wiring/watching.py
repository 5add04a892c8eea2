"""The upstream watch at work: sweeps by schedule and by order, one at a time, and what is kept of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from genesisd.control.watch_views import SweepView
from genesisd.errors import ConflictError, GenesisError
from genesisd.identity import boot_id
from genesisd.store.meta import StoreReadError
from genesisd.telemetry import log
from genesisd.watch import pin_facts
from genesisd.watch.changing import Written
from genesisd.watch.claims import FAILED, Claim, Swept
from genesisd.watch.cost import Asked
from genesisd.watch.kinds import SweepKind
from genesisd.watch.result import StatusChange
from genesisd.watch.revisit import come_true
from genesisd.watch.schedule import Schedule
from genesisd.watch.spec import WatchSpec
from genesisd.watch.standing import predicates, revisit
from genesisd.watch.sweep import Step, Sweep
from genesisd.wiring.patch_facts import PatchFacts
from genesisd.wiring.watch_file import WatchlistFile
from genesisd.wiring.watch_following import Following
from genesisd.wiring.watch_ground import GroundMaker
from genesisd.wiring.watch_needs import WatchNeeds
from genesisd.wiring.watch_progress import Progress
from genesisd.wiring.watch_reports import Reports
from genesisd.wiring.watch_telling import ASKED, Telling, summary
from genesisd.wiring.watch_views import Looked

logger = log.get_logger(__name__)


class Watching:
    """Begins with ``start``; does nothing while no watchlist is configured."""

    def __init__(self, needs: WatchNeeds) -> None:
        self._config, self._clock = needs.config, needs.clock
        self._store = store = needs.store
        self._sink, self._metrics = needs.sink, needs.metrics
        self._workers = needs.workers
        self.patches = PatchFacts()
        self.grounds = GroundMaker(
            needs.config, store, needs.session, needs.clock, self.patches, needs.workers, self._trouble
        )
        self.reports = Reports(needs.config().paths.state_dir / "watch" / "reports")
        self.progress = Progress()
        self.turn = asyncio.Lock()
        """Held by a sweep, and by what must not be done while one goes on."""
        self._looking = asyncio.Lock()
        self._telling = Telling(needs.sink, needs.metrics, store.watch_facts)
        self._following = Following(store, self.reports, needs.sink, needs.clock)
        self._schedule: Schedule | None = None
        self._closed = False
        self.started = asyncio.Event()
        """Set once ``start`` is over: the daemon takes orders before that."""
        self._true: frozenset[str] = frozenset()
        self.asked = Asked()
        """What the newest sweep of this life asked."""
        self.troubles: tuple[str, ...] = ()
        """What went wrong in it."""
        self._file = WatchlistFile()
        store.watch_decisions.is_true = lambda text: text in self._true

    @property
    def spec(self) -> WatchSpec:
        """What is configured."""
        return self._config().watch

    # --- life -------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Begin to sweep. A store that does not answer costs what it knew, and not the daemon."""
        try:
            with contextlib.suppress(StoreReadError):  # the store tells of it
                await self._store.watch_ledger.leave(self._clock.wall())
            await self.reconfigured()
        finally:
            self.started.set()

    async def close(self) -> None:
        """End for good; a sweep that goes on leaves its window open for the next daemon."""
        self._closed = True
        await self._end()

    async def _end(self) -> None:
        if self._schedule is not None:
            schedule, self._schedule = self._schedule, None
            await schedule.close()

    async def reconfigured(self) -> None:
        """Take over what is configured now: the watch's own settings, and what declined decisions wait for.

        Never raises: a reload that was carried out must be told as one, whatever is wrong here.
        """
        if self._closed:  # a reload that was under way when the daemon began to end
            return
        spec = self._config().watch
        self._metrics.configure(spec, self._clock.wall())
        if spec.watchlist is None:
            await self._end()
            return
        if self._schedule is None:
            self._schedule = self._make_schedule()
            self._schedule.start()
        else:
            self._schedule.change(spec.schedule)
        try:
            await self._look_again()
        except Exception as error:  # noqa: BLE001 - the sweeps go on, and look again themselves
            self._trouble(f"what is kept could not be looked at anew: {error or type(error).__name__}")

    async def _look_again(self) -> None:
        await self._refresh_truth()
        await self.show()
        for kind in SweepKind:
            if (last := await self._store.watch_ledger.last(str(kind))) is not None:
                self._metrics.last(str(kind), last[1])

    def _make_schedule(self) -> Schedule:
        return Schedule(
            self._config().watch.schedule,
            self._store.watch_ledger,
            self._sweep,
            owner=f"{boot_id()}:{os.getpid()}",
            clock=self._clock,
            trouble=self._trouble,
        )

    async def begun(self, within: float) -> None:
        """Wait for ``start``: orders may come before. Raises ConflictError where it takes longer than that."""
        try:
            async with asyncio.timeout(within):
                await self.started.wait()
        except TimeoutError:
            raise ConflictError("the watch has not begun yet", hint="genesisctl watch status shows it") from None

    def due(self) -> Mapping[str, float]:
        """When each kind of sweep begins next, wall time."""
        return {} if self._schedule is None else {str(kind): at for kind, at in self._schedule.next_times().items()}

    def order(self, kind: SweepKind) -> asyncio.Future[Swept]:
        """Sweep now, with whoever asked before it began. Raises ConflictError where nothing is watched."""
        if self._schedule is None:
            raise ConflictError("nothing is watched", hint="genesisctl watch status tells what is configured")
        order = asyncio.ensure_future(self._schedule.now(kind))
        order.add_done_callback(_heard)
        return order

    # --- a sweep ----------------------------------------------------------------------------------------------

    async def _sweep(self, claim: Claim) -> Swept:
        kind, began = claim.due.kind, self._clock.wall()
        self.progress.begin(claim.sweep, str(kind), claim.due.window, began)
        self._sink.emit("watch_sweep_started", sweep=claim.sweep, sort=str(kind), late=round(claim.due.late))
        swept = Swept(FAILED, {"text": "it was stopped"})
        try:
            async with self.turn:
                swept = await self._swept(claim)
        except asyncio.CancelledError:
            self._failed(claim, began, "it was stopped")
            raise
        except Exception as error:
            swept = Swept(FAILED, {"text": str(error) or type(error).__name__})
            self._failed(claim, began, swept.summary["text"])
            if not isinstance(error, GenesisError | StoreReadError):
                raise
        finally:
            self.progress.end(self._view(claim, began, swept))
        return swept

    def _failed(self, claim: Claim, began: float, text: str) -> None:
        self.troubles = (text,)
        kind, ended = str(claim.due.kind), self._clock.wall()
        self._sink.emit("watch_sweep_failed", sweep=claim.sweep, sort=kind, text=text)
        self._metrics.swept(kind, max(0.0, ended - began), FAILED, ended)

    async def _swept(self, claim: Claim) -> Swept:
        config = self._config()
        await self._refresh_truth()
        grounded = await self.grounds.make(anew=claim.due.kind is SweepKind.WEEKLY)

        def say(step: Step) -> None:
            self.progress.step(step)
            self._sink.emit("watch_sweep_step", sweep=claim.sweep, step=str(step))

        async def write(path: Path, changes: Sequence[StatusChange]) -> Written:
            return await self._written(path, asyncio.ensure_future(grounded.ground.write(path, changes)))

        ground = replace(grounded.ground, write=write)
        sweep = Sweep(ground, config.watch, claim.due.kind, claim.due.window, say, grounded.troubles)
        result = await sweep.run()
        result = await self._following.after(claim.sweep, grounded, result, most=config.watch.reports)
        self.asked, self.troubles = result.asked, result.troubles
        with contextlib.suppress(StoreReadError):  # the series are set anew before the next scrape
            await self.show()
        await self._telling.swept(claim.sweep, result)  # the last: its end is told once, as what it was
        text = "; ".join(result.troubles) or "everything was asked and answered"
        return Swept(str(result.outcome), {**summary(result), "text": text})

    async def _written(self, path: Path, writing: asyncio.Future[Written]) -> Written:
        """Told at once, also by a daemon that ends meanwhile: the next sweep finds the lines true and says nothing."""
        try:
            await asyncio.shield(writing)
        finally:
            self._telling.changed(path, (await writing)[0])
        return writing.result()

    def _view(self, claim: Claim, began: float, swept: Swept) -> SweepView:
        return SweepView(
            id=claim.sweep,
            kind=str(claim.due.kind),
            window=claim.due.window,
            started=began,
            finished=self._clock.wall(),
            outcome=swept.outcome,
            step=str(swept.summary.get("text") or ""),
            summary=swept.summary,
        )

    # --- what is known ----------------------------------------------------------------------------------------

    async def looked(self) -> Looked:
        """All that is kept, and the file as it reads now. Raises StoreReadError."""
        return replace(await self._outline(), facts=await pin_facts.kept(self._store.watch_facts))

    async def _outline(self) -> Looked:
        """The same less what pins have, which is most of it, and which no series tells: every scrape asks for this."""
        path = self._config().watch.watchlist
        found, trouble = (None, "") if path is None else await asyncio.to_thread(self._file.read, path)
        return Looked(
            watchlist=found,
            trouble=trouble,
            known=await self._store.watch_facts.known(),
            kept=await self._store.watch_decisions.all(),
            patches=self.patches.facts(),
            find=self.patches.find,
            asked=await self._store.watch_facts.recall(ASKED),
        )

    async def show(self) -> None:
        """Open again what waited for a time or a predicate, and set the series by what is kept. Raises StoreReadError."""
        looked, now = await self._outline(), self._clock.wall()
        if revisit(looked.kept, now, self._true.__contains__):
            again = await self._store.watch_decisions.revisit(now)
            await self._telling.decided(again, "what it waited for has come: ")
            looked = replace(looked, kept=await self._store.watch_decisions.all())
        self._telling.standing(looked, now, self._config().watch.max_age)

    async def _refresh_truth(self) -> None:
        async with self._looking:  # who asked last is answered last: an older look knows nothing of a newer predicate
            waited = predicates(await self._store.watch_decisions.all())
            facts = list((await self._workers.facts()).values()) if waited else []
            self._true = frozenset(come_true(waited, facts))

    async def refresh(self, *, anew: bool = False) -> None:
        """Before a scrape: rows grow old, and people edit the list, while nobody sweeps.

        ``anew``: there are other predicates, which may have come true while they were given.
        """
        if self._schedule is not None:
            with contextlib.suppress(StoreReadError, GenesisError):
                if anew:
                    await self._refresh_truth()
                await self.show()

    def _trouble(self, text: str) -> None:
        logger.warning("the upstream watch", trouble=text)


def _heard(order: asyncio.Future[Swept]) -> None:
    """Whoever gave it may be gone by now; then its end is no error that nobody looked at."""
    if not order.cancelled():
        order.exception()
