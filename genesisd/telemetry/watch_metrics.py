"""The series that tell how well upstream is watched. There are none while nothing is watched.

Ages are told as times since when: they go on growing while nobody sets them, which is just when they matter.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from genesisd.telemetry import names
from genesisd.telemetry.families import Family, LabelValues, Series
from genesisd.telemetry.names import one_of


class WatchMetrics:
    """Sets the families in ``names.WATCH_FAMILIES``. Until ``configure`` says that something is watched, nothing."""

    def __init__(self, series: Mapping[Family, Series]) -> None:
        self._series = series
        self._on = False

    def configure(self, kinds: Collection[str], max_age: float | None) -> None:
        """What is scheduled, and how old an answer may be in seconds (None: nothing is watched, and no series stays).

        Counters, and the successes of kinds that stay, are kept. A kind that is not scheduled any more loses its
        last success, which would only grow old.
        """
        if max_age is None:
            self._clear()
            return
        if not self._on:
            self._begin()
        self._series[names.WATCH_MAX_AGE].set(max_age)
        success = self._series[names.WATCH_SWEEP_SUCCESS]
        known = {(one_of(kind, names.SWEEPS),): 0.0 for kind in kinds}
        success.replace({kind: success.values.get(kind, 0.0) for kind in known})

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

    def decisions(self, open_: Mapping[tuple[str, str], int]) -> None:
        """Open decisions by kind and urgency; quiet kinds are left out, as is what there is none of."""
        counts: dict[LabelValues, float] = {}
        for (kind, urgency), count in open_.items():
            labels = (one_of(kind, names.DECISIONS), one_of(urgency, names.URGENCIES, "none"))
            if count and kind not in names.QUIET_DECISIONS:
                counts[labels] = counts.get(labels, 0) + count
        self._replace(names.WATCH_DECISIONS, counts)

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

        A kind that is not scheduled has no such series: nobody would renew it.
        """
        success = self._series[names.WATCH_SWEEP_SUCCESS]
        if self._on and (kind,) in success.values:
            success.set(max(round(at, 3), success.values[(kind,)]), kind)

    def asked(self, kind: str, count: int = 1) -> None:
        """Questions were put: ``graphql``, ``rest``, ``diff`` or ``index``."""
        if self._on and count > 0:
            self._series[names.WATCH_REQUESTS].inc(one_of(kind, names.QUESTIONS), by=count)

    def unchanged(self, count: int = 1) -> None:
        """So many of them were answered by: nothing changed."""
        if self._on and count > 0:
            self._series[names.WATCH_UNCHANGED].inc(by=count)

    def budget(self, remaining: int | None, limit: int | None) -> None:
        """What upstream still lets us ask, as it last told; None: it did not tell."""
        for family, value in ((names.WATCH_REMAINING, remaining), (names.WATCH_LIMIT, limit)):
            self._replace(family, {} if value is None else {(): value})

    def _replace(self, family: Family, values: Mapping[LabelValues, float]) -> None:
        if self._on:
            self._series[family].replace(values)
