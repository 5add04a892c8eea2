"""The series that tell how well upstream is watched. There are none while nothing is watched.

Ages are told as times since when: they go on growing while nobody sets them, which is just when they matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from genesisd.telemetry import names
from genesisd.telemetry.families import Family, LabelValues, Series
from genesisd.telemetry.names import one_of
from genesisd.watch.cost import Asked
from genesisd.watch.cron import Cron, next_after, parse_cron
from genesisd.watch.decisions import QUIET, KeptDecision, Standing
from genesisd.watch.kinds import SCHEDULED, SweepKind
from genesisd.watch.spec import ScheduleSpec, WatchSpec
from genesisd.watch.windows import moment

_SLOTS, _DAYS = 200, 800
"""How many times of a schedule are looked at for the longest time between two of them, and how far ahead."""
_WIDEST_FIRST = tuple(str(kind) for kind in SCHEDULED)
_COVERS = {kind: _WIDEST_FIRST[n:] for n, kind in enumerate(_WIDEST_FIRST)} | {str(SweepKind.NOW): _WIDEST_FIRST[1:]}
"""The kinds whose work a sweep of a kind does. One that a person orders is as the nightly one."""


class WatchMetrics:
    """Sets the families in ``names.WATCH_FAMILIES``. Until ``configure`` says that something is watched, nothing."""

    def __init__(self, series: Mapping[Family, Series]) -> None:
        self._series = series
        self._on = False

    def configure(self, spec: WatchSpec, now: float) -> None:
        """What is watched and when, from wall time ``now`` on. Without a watchlist no series stays.

        Counters, and the successes of kinds that stay, are kept. A kind that is not scheduled any more loses its
        last success, which would only grow old.
        """
        if spec.watchlist is None:
            self._clear()
            return
        if not self._on:
            self._begin()
        self._series[names.WATCH_MAX_AGE].set(spec.max_age)
        periods: dict[LabelValues, float] = {(kind,): longest_gap(cron, now) for kind, cron in _crons(spec.schedule)}
        self._series[names.WATCH_SWEEP_PERIOD].replace(periods)
        success = self._series[names.WATCH_SWEEP_SUCCESS]
        success.replace({kind: success.values.get(kind, 0.0) for kind in periods})

    def _begin(self) -> None:
        self._on = True
        self.rows({})
        self.stale(0)
        for kind in names.SWEEPS:
            for outcome in names.SWEEP_OUTCOMES:
                self._series[names.WATCH_SWEEPS].inc(kind, outcome, by=0)
        for kind in names.QUESTIONS:
            self._series[names.WATCH_REQUESTS].inc(kind, by=0)
        self._series[names.WATCH_UNCHANGED].inc(by=0)

    def _clear(self) -> None:
        self._on = False
        for family in names.WATCH_FAMILIES:
            self._series[family].replace({})

    # --- what the newest sweep left ---------------------------------------------------------------------------

    def rows(self, by_state: Mapping[str, int]) -> None:
        """How many rows upstream said what of; a word that is no state counts as ``unknown``."""
        counts: dict[LabelValues, float] = {(state,): 0 for state in names.ROW_STATES}
        for state, count in by_state.items():
            counts[(one_of(state, names.ROW_STATES, names.UNKNOWN),)] += count
        self._replace(names.WATCH_ROWS, counts)

    def stale(self, count: int) -> None:
        """Rows whose newest answer is older than allowed, and those that never got one."""
        self._replace(names.WATCH_STALE, {(): count})

    def oldest(self, since: float | None) -> None:
        """Wall time since when the row that has waited longest for an answer has waited: its newest answer.

        For a row that never got one it is when it was first asked about. None: there is no row.
        """
        self._replace(names.WATCH_OLDEST, {} if since is None else {(): round(since, 3)})

    def decisions(self, kept: Iterable[KeptDecision]) -> None:
        """All that were made; those that are open and no mere notes are counted."""
        made = [one.decision for one in kept if one.standing is Standing.OPEN and one.decision.kind not in QUIET]
        self._replace(names.WATCH_DECISIONS, dict(Counter((str(one.kind), str(one.urgency)) for one in made)))

    # --- as it goes on ----------------------------------------------------------------------------------------

    def swept(self, kind: str, seconds: float, outcome: str, at: float) -> None:
        """A sweep ended at wall time ``at`` after ``seconds``; what is neither done nor partial has failed."""
        if not self._on:
            return
        kind, outcome = one_of(kind, names.SWEEPS), one_of(outcome, names.SWEEP_OUTCOMES, "failed")
        self._series[names.WATCH_SWEEPS].inc(kind, outcome)
        self._series[names.WATCH_SWEEP_SECONDS].set(round(seconds, 3), kind)
        if outcome != "failed":
            self.last(kind, at)

    def last(self, kind: str, at: float) -> None:
        """When the newest sweep of a kind that did not fail ended: for those of an earlier daemon, from the ledger.

        It did the work of narrower kinds too. A kind that is not scheduled has no such series: nobody would renew it.
        """
        success = self._series[names.WATCH_SWEEP_SUCCESS]
        for one in _COVERS.get(kind, ()):
            if self._on and (one,) in success.values:
                success.set(max(round(at, 3), success.values[(one,)]), one)

    def asked(self, asked: Asked) -> None:
        """What a sweep cost, and what upstream still lets us ask; None of that: it did not tell."""
        if not self._on:
            return
        for kind, count in asked.requests.items():
            self._series[names.WATCH_REQUESTS].inc(one_of(kind, names.QUESTIONS), by=count)
        self._series[names.WATCH_UNCHANGED].inc(by=asked.unchanged)
        budget = asked.budget
        for family, value in ((names.WATCH_REMAINING, budget.remaining), (names.WATCH_LIMIT, budget.limit)):
            self._replace(family, {} if value is None else {(): value})

    def _replace(self, family: Family, values: Mapping[LabelValues, float]) -> None:
        if self._on:
            self._series[family].replace(values)


def longest_gap(cron: Cron, now: float) -> float:
    """Seconds between those two neighbouring times of a schedule that are farthest apart."""
    first = at = next_after(cron, moment(now))
    longest = 0.0
    for _ in range(_SLOTS):
        following = next_after(cron, at)
        at, longest = following, max(longest, (following - at).total_seconds())
        if (at - first).days > _DAYS:
            break
    return longest


def _crons(spec: ScheduleSpec) -> list[tuple[str, Cron]]:
    """The kinds that are scheduled; a line that cannot be read was told when the configuration was."""
    written = ((str(kind), getattr(spec, str(kind))) for kind in SCHEDULED)
    return [(kind, parse_cron(text)) for kind, text in written if text is not None]
