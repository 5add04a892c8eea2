"""The values behind the names: set by the daemon and by events, read by the exposition.

Labels are bounded: names of configured workers, and the enumerations in ``names``; whatever else arrives is
counted as ``other``. Series are there with 0 from the start, so that the first increase is seen by ``rate``.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import genesisd
from genesisd.clock import Clock, SystemClock
from genesisd.supervisor.model import WorkerState
from genesisd.supervisor.ports import Card, FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry import names
from genesisd.telemetry.correctness_metrics import CorrectnessMetrics, CorrectnessTold
from genesisd.telemetry.families import Family, Series
from genesisd.telemetry.names import one_of
from genesisd.telemetry.watch_metrics import WatchMetrics
from genesisd.telemetry.worker_metrics import WorkerMetrics


class Metrics(CorrectnessTold):
    """One per daemon. Not thread-safe: call it on the loop.

    Every method ignores workers that are not configured: a late event of a removed one must not bring it back.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.daemon: dict[Family, Series] = {family: Series(family) for family in names.DAEMON_FAMILIES}
        self.watch = WatchMetrics(self.daemon)
        self.workers: dict[str, WorkerMetrics] = {}
        self._set(names.BUILD_INFO, 1, genesisd.__version__, platform.python_version())
        self._set(names.UP, 1)
        for family in (names.CONFIG_OK, names.CONFIG_AT, names.STORE_ERRORS, names.SINK_ERRORS, names.LOOP_LAG):
            self._set(family, 0)
        self._set(names.FRONT_RESTARTS, 0)
        self._set(names.CARDS_QUARANTINED, 0)
        for kind in names.EVENTS:
            self._set(names.JOURNAL_EVENTS, 0, kind)
        for result in names.BUILD_RESULTS:
            self._set(names.PIN_BUILDS, 0, result)
            self._set(names.PATCHED_BUILDS, 0, result)

    def _set(self, family: Family, value: float, *labels: str) -> None:
        self.daemon[family].set(value, *labels)

    # --- set by the daemon ----------------------------------------------------------------------------------

    def configure(self, workers: Mapping[str, WorkerSpec]) -> None:
        """These are the workers now; counters of those that stay are kept."""
        for gone in [name for name in self.workers if name not in workers]:
            del self.workers[gone]
        self.workers = {name: self._worker(name, spec) for name, spec in workers.items()}

    def _worker(self, name: str, spec: WorkerSpec) -> WorkerMetrics:
        metrics = self.workers.get(name) or WorkerMetrics(name)
        metrics.configure(spec)
        return metrics

    def worker_state(self, worker: str, state: WorkerState) -> None:
        """The worker's newest state: call it after each decision."""
        if (metrics := self.workers.get(worker)) is not None:
            metrics.state(state, self._clock)

    def front(self, worker: str, stats: FrontStats | None) -> None:
        """What the front counted; None when it did not answer."""
        if (metrics := self.workers.get(worker)) is not None:
            metrics.front(stats)

    def patches(self, worker: str, verdicts: Mapping[str, str], lost: Collection[str]) -> None:
        """What the newest start made of each patch (id to verdict), and the ids whose effect it lacks."""
        if (metrics := self.workers.get(worker)) is not None:
            metrics.patches.started(verdicts, lost)

    def attestation(self, worker: str, state: str, hits: Mapping[str, int], never: Mapping[str, str]) -> None:
        """What is known of the running code.

        Args:
            worker: whose.
            state: one of ``names.ATTESTED_STATES``.
            hits: by id of each patch that tells, how often it was reached in this life.
            never: roles, by id of each patch that tells and was not reached although requests were served.
        """
        if (metrics := self.workers.get(worker)) is not None:
            metrics.patches.attested(state, hits, never)

    def _correctness(self, worker: str) -> CorrectnessMetrics | None:
        metrics = self.workers.get(worker)
        return None if metrics is None else metrics.correctness

    def cards_quarantined(self, count: int) -> None:
        """How many cards no worker is started on."""
        self._set(names.CARDS_QUARANTINED, count)

    def cards(self, cards: Iterable[Card]) -> None:
        """The cards as they are; one that is not among them goes."""
        total, free = self.daemon[names.CARD_TOTAL], self.daemon[names.CARD_FREE]
        seen = {str(card.index): card for card in cards}
        for (gone,) in [labels for labels in total.values if labels[0] not in seen]:
            total.drop(gone)
            free.drop(gone)
        for index, card in seen.items():
            total.set(card.total, index)
            free.set(card.free, index)

    def config_read(self, *, ok: bool) -> None:
        """The configuration was read, at start or by a reload."""
        self._set(names.CONFIG_OK, int(ok))
        if ok:
            self._set(names.CONFIG_AT, self._clock.wall())

    def loop_lag(self, seconds: float) -> None:
        """Longest delay of the loop lately."""
        self._set(names.LOOP_LAG, seconds)

    def store_errors(self, count: int) -> None:
        """How many writes failed since the daemon began."""
        self._set(names.STORE_ERRORS, count)

    def sink_error(self) -> None:
        """A receiver of events failed."""
        self.daemon[names.SINK_ERRORS].inc()

    def refresh(self) -> None:
        """Bring up to date what changes by the mere passing of time; called before each scrape."""
        for worker in self.workers.values():
            worker.refresh(self._clock.monotonic())

    # --- set by events --------------------------------------------------------------------------------------

    def event(self, kind: str, worker: str | None, fields: Mapping[str, Any], *, journalled: bool) -> None:
        """Count what an event says. Kinds without a number of their own only count as events."""
        if journalled:
            self.daemon[names.JOURNAL_EVENTS].inc(one_of(kind, names.EVENTS))
        if worker is not None and (metrics := self.workers.get(worker)) is not None:
            metrics.event(kind, fields, self._clock.wall())
        match kind:
            case "config_reloaded":
                self.config_read(ok=True)
            case "config_rejected":
                self.config_read(ok=False)
            case "front_restarted":
                self.daemon[names.FRONT_RESTARTS].inc()
            case "pin_built" | "pin_failed":
                self.daemon[names.PIN_BUILDS].inc(kind.removeprefix("pin_"))
            case "build_made":
                self.daemon[names.PATCHED_BUILDS].inc("built")
            case "build_failed":
                self.daemon[names.PATCHED_BUILDS].inc("failed")
            case _:
                pass

    # --- read by the exposition -----------------------------------------------------------------------------

    def series(self, family: Family) -> list[Series]:
        """All series of a family, in the order of the configuration."""
        if not family.per_worker:
            return [self.daemon[family]]
        return [found for worker in self.workers.values() if (found := worker.series.get(family)) is not None]
