"""What a sweep found, as events and series."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from genesisd.store.meta import StoreReadError
from genesisd.supervisor.ports import EventSink
from genesisd.telemetry.watch_metrics import WatchMetrics
from genesisd.watch.decisions import QUIET, KeptDecision, Standing, Urgency
from genesisd.watch.kinds import SweepKind
from genesisd.watch.ports import Facts
from genesisd.watch.result import StatusChange, SweepOutcome, SweepResult
from genesisd.watch.rows import row_id
from genesisd.wiring.watch_views import Looked, by_state, rows

_NUMBER = re.compile(r"\b\d+(\.\d+)?\b")
SEEN = "release-seen"
"""Kind of the note that holds the newest release that was told."""
DECIDED = "decision-told"
"""Kind of the notes that hold which decisions were told as open, by id: since when, and whether as urgent."""
MOVED = "moved-told"
"""Kind of the notes that hold where a pull request was told to have moved."""
ASKED = "row-asked"
"""Kind of the notes that say when a row was first asked about."""


class Telling:
    """Tells each thing once, though a sweep finds it every night."""

    def __init__(self, sink: EventSink, metrics: WatchMetrics, facts: Facts) -> None:
        self._sink = sink
        self._metrics = metrics
        self._facts = facts
        self._unkept: dict[str, list[Any] | None] = {}
        """Notes of ``DECIDED`` that the disk did not take yet."""
        self._stale = False
        self._failing: dict[bool, frozenset[str]] = {}
        """Troubles of the newest sweep of the whole list, and of the newest of its gravest rows, less their numbers."""

    async def swept(self, sweep: int, result: SweepResult) -> None:
        """Everything that is new in ``result``, but for ``changed``."""
        if result.refused:
            self._sink.emit("watch_file_refused", text=result.refused)
        for part in (self._moved, self._standing, self._released):
            with contextlib.suppress(StoreReadError):  # what was not kept as told is told by the next sweep
                await part(result)
        for one in result.new:
            told: dict[str, Any] = {"ref": str(one.pull.ref), "title": one.pull.title, "score": round(one.score, 1)}
            self._sink.emit("watch_pull_seen", **told, reasons=list(one.reasons), patches=list(one.patches))
        self._ended(sweep, result)

    def changed(self, path: Path, changes: Sequence[StatusChange]) -> None:
        """Lines of the watchlist that are other ones now."""
        for change in changes:
            line = {"row": change.row, "ref": str(change.ref), "before": str(change.before), "after": str(change.after)}
            self._sink.emit("watch_row_changed", **line, evidence=change.evidence)
        if changes:
            self._sink.emit("watch_file_written", path=str(path), rows=len(changes))

    def standing(self, looked: Looked, now: float, max_age: float) -> None:
        """How well upstream is watched, from all that is kept."""
        self._metrics.rows(by_state(rows(looked, now, max_age)))
        since = {row_id(row): looked.waits_since(row.upstream, now) for row in looked.rows()}
        stale = [str(row.upstream) for row in looked.stale(now, max_age)]
        self._metrics.stale(len(stale))
        self._metrics.oldest(min(since.values(), default=None))
        self._metrics.decisions(looked.kept)
        if stale and not self._stale:
            self._sink.emit("watch_stale", rows=len(stale), first=", ".join(stale[:5]), max_age=max_age)
        self._stale = bool(stale)

    async def decided(self, kept: Iterable[KeptDecision], because: str = "") -> None:
        """Tell the open ones that were not told yet, or not as urgent, and of those that were told which have passed.

        By what was told and not by what is new: a sweep may be cut off between its decisions and this.
        Raises StoreReadError.
        """
        told = {**await self._facts.recall(DECIDED), **self._unkept}
        notes: dict[str, list[Any] | None] = {}
        for one in kept:
            known, made = _as_noted(told.get(str(one.id))), one.decision
            if made.kind in QUIET:
                continue
            urgent = made.urgency is Urgency.NOW
            if one.standing is Standing.OPEN and known != [one.opened, urgent]:
                if urgent or known is None or known[0] != one.opened:  # one that is less pressing now is no news
                    kind = "watch_decision_urgent" if urgent else "watch_decision_opened"
                    why = {"patches": list(made.patches), "reason": f"{because}{made.reason}"}
                    self._sink.emit(kind, **_named(one), urgency=str(made.urgency), **why)
                notes[str(one.id)] = [one.opened, urgent]
            elif one.standing is Standing.PASSED and known is not None:
                self._sink.emit("watch_decision_passed", **_named(one))
                notes[str(one.id)] = None
        self._unkept |= notes
        if self._unkept:
            await self._facts.note(DECIDED, self._unkept)
            self._unkept = {}

    async def _standing(self, result: SweepResult) -> None:
        await self.decided(result.kept)

    async def _moved(self, result: SweepResult) -> None:
        moves = {str(ref): str(one.pull.now_at) for ref, one in result.known.items() if one.pull and one.pull.now_at}
        told = await self._facts.recall(MOVED, list(moves))
        fresh = {ref: to for ref, to in moves.items() if told.get(ref) != to}
        for ref, to in fresh.items():
            self._sink.emit("watch_row_moved", ref=ref, to=to)
        if fresh:
            await self._facts.note(MOVED, fresh)

    async def _released(self, result: SweepResult) -> None:
        newest = next((one.version for one in result.releases or () if not one.yanked), None)
        if newest is None:
            return
        package = next(one.package for one in result.releases or ())
        told = (await self._facts.recall(SEEN, [package])).get(package)
        order = [one.version for one in result.releases or ()]
        if told in order and order.index(told) <= order.index(newest):  # that one was withdrawn: an older is no news
            return
        if told != newest:
            await self._facts.note(SEEN, {package: newest})
            if told is not None:  # at the first sweep every release is new
                self._sink.emit("watch_release_seen", package=package, version=newest, before=told)

    def _troubled(self, result: SweepResult) -> None:
        """What a narrow sweep does not ask about is neither mended nor broken by it."""
        narrow = result.kind is SweepKind.HOURLY
        before, now = self._failing.get(narrow, frozenset()), {_sort(one): one for one in result.troubles}
        for sort, trouble in now.items():
            if sort not in before:
                self._sink.emit("watch_source_failed", text=trouble)
        self._failing[narrow] = frozenset(now)
        if before and not any(self._failing.values()):
            self._sink.emit("watch_source_back")

    def _ended(self, sweep: int, result: SweepResult) -> None:
        told = {"sweep": sweep, "sort": str(result.kind), "seconds": round(result.seconds, 1)}
        self._troubled(result)
        if result.outcome is SweepOutcome.FAILED:
            self._sink.emit("watch_sweep_failed", **told, text="; ".join(result.troubles))
        else:
            self._sink.emit("watch_sweep_ended", **told, outcome=str(result.outcome), **summary(result))
        self._metrics.asked(result.asked)
        self._metrics.swept(str(result.kind), result.seconds, str(result.outcome), result.started + result.seconds)


def _as_noted(told: Any) -> list[Any] | None:
    """Since when it is open, and whether it was told as urgent; an earlier version kept the time alone."""
    return told if told is None or isinstance(told, list) else [told, True]


def _sort(trouble: str) -> str:
    """Equal for the same trouble on a night on which it concerns more or fewer."""
    return _NUMBER.sub("#", trouble)


def _named(kept: KeptDecision) -> dict[str, Any]:
    return {"decision": kept.id, "asked": str(kept.decision.kind), "ref": str(kept.decision.ref)}


def summary(result: SweepResult) -> dict[str, int]:
    """The numbers of a sweep."""
    return {
        "rows": 0 if result.watchlist is None else len(result.watchlist.watch) + len(result.watchlist.sweep),
        "changed": len(result.changes),
        "opened": len([one for one in result.met.opened if one.decision.kind not in QUIET]),
        "passed": len([one for one in result.met.passed if one.decision.kind not in QUIET]),
        "new": len(result.new),
        "troubles": len(result.troubles),
        "requests": sum(result.asked.requests.values()),
        "unchanged": result.asked.unchanged,
    }
