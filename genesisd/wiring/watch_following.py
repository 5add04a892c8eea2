"""What rests on a sweep that was made: dossiers, wishes for trials, the report. None of it can undo the sweep."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

from genesisd.clock import Clock
from genesisd.store.store import Store
from genesisd.supervisor.ports import EventSink
from genesisd.telemetry import log
from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import AHEAD
from genesisd.watch.result import SweepOutcome, SweepResult
from genesisd.wiring.watch_dossier_rounds import DossierRounds
from genesisd.wiring.watch_dossiers import DossierMaker
from genesisd.wiring.watch_ground import Grounded
from genesisd.wiring.watch_reports import Reports
from genesisd.wiring.watch_telling import ASKED
from genesisd.wiring.watch_trials import RecordedTrials, key_of

logger = log.get_logger(__name__)


class Following:
    """Does each part by itself: the watchlist is written by now, and what is left must be told whatever befalls one."""

    def __init__(self, store: Store, reports: Reports, sink: EventSink, clock: Clock) -> None:
        self._store = store
        self._reports = reports
        self._sink = sink
        self._rounds = DossierRounds(store.watch_decisions, clock)
        self._trials = RecordedTrials(store.watch_facts, sink, clock)

    async def after(self, sweep: int, grounded: Grounded, result: SweepResult, *, most: int) -> SweepResult:
        """``result`` with the troubles that came on top; ``most`` reports are kept."""
        result = await _part("the dossiers", lambda: self._dossiers(grounded, result), result)
        result = await _part("the trials that are wanted", lambda: self._want(result), result)
        result = await _part("since when rows are asked about", lambda: self._note_asked(result), result)
        return await _part("the report", lambda: self._report(sweep, result, most), result)

    async def _dossiers(self, grounded: Grounded, result: SweepResult) -> tuple[str, ...]:
        on = grounded.ground
        maker = DossierMaker(grounded.github, on.appraiser, self._store.watch_decisions, on.patches)
        return await self._rounds.after(result, maker, on.patches)

    async def _want(self, result: SweepResult) -> tuple[str, ...]:
        """Of all that are open: an intent that an earlier sweep could not keep is kept now, and none is kept twice.

        One whose decision has passed, or was declined, is dropped.
        """
        trials = [one for one in result.kept if one.decision.kind is DecisionKind.TRIAL]
        for kept in trials:
            if kept.standing is Standing.OPEN:
                await self._trials.want(kept.decision.ref, kept.decision.patches, why=kept.decision.reason)
        alive = [one.decision for one in trials if one.standing not in {Standing.PASSED, Standing.DECLINED}]
        await self._trials.keep({key_of(one.ref, one.patches) for one in alive})
        return ()

    async def _note_asked(self, result: SweepResult) -> tuple[str, ...]:
        """Since when each row is asked about: the age of one that was never answered for counts from there."""
        known = await self._store.watch_facts.recall(ASKED)
        late = result.started + AHEAD  # kept by a clock that was ahead: it would be long until anything grew old again
        fresh = {str(ref): result.started for ref in result.known if known.get(str(ref), math.inf) > late}
        if fresh:
            await self._store.watch_facts.note(ASKED, fresh)
        return ()

    async def _report(self, sweep: int, result: SweepResult, most: int) -> tuple[str, ...]:
        """Of an hourly sweep only where it has news: in four days those alone would push out every nightly one."""
        met = result.met
        if result.kind is SweepKind.HOURLY and not (result.changes or met.opened or met.reopened or met.passed):
            return ()
        path = await asyncio.to_thread(self._reports.keep, sweep, result, most=most)
        self._sink.emit("watch_report_written", sweep=sweep, path=str(path))
        return ()


async def _part(what: str, make: Callable[[], Awaitable[tuple[str, ...]]], result: SweepResult) -> SweepResult:
    try:
        troubles = await make()
    except Exception as error:  # noqa: BLE001 - the file is changed and decisions are kept: the rest must still be told
        logger.warning("a part of what follows a sweep failed", part=what, error=repr(error))
        troubles = (f"{what} could not be kept: {error or type(error).__name__}",)
    if not troubles:
        return result
    outcome = SweepOutcome.PARTIAL if result.outcome is SweepOutcome.DONE else result.outcome
    return replace(result, outcome=outcome, troubles=(*result.troubles, *troubles))
