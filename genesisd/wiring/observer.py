"""From changes of state to events and metrics: status, journal and metrics all follow the same change."""

from __future__ import annotations

from collections.abc import Callable

from genesisd.errors import GenesisError
from genesisd.supervisor.actor import Observer
from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.ports import EventSink
from genesisd.telemetry.metrics import Metrics


class StateTeller(Observer):
    """Tells each change once.

    Args:
        sink: journal, log and streams.
        metrics: the gauges of the state.
        follow: called with (worker, state) after everything was told.
        born: called with the worker and its incarnation when one was spawned.
        found: called with them when one was adopted.
    """

    def __init__(
        self,
        sink: EventSink,
        metrics: Metrics,
        follow: Callable[[str, WorkerState], None],
        born: Callable[[str, int], None],
        found: Callable[[str, int], None],
    ) -> None:
        self._born = born
        self._found = found
        self._sink = sink
        self._metrics = metrics
        self._follow = follow

    def changed(self, worker: str, before: WorkerState, after: WorkerState) -> None:
        """``before`` and ``after`` differ."""
        self._metrics.worker_state(worker, after)
        self._tell_exit(worker, before, after)
        self._tell_phase(worker, before, after)
        if after.shim_lost and not before.shim_lost:
            self._sink.emit("shim_lost", worker, incarnation=after.incarnation)
        if after.restarts and after.restarts[-1:] != before.restarts[-1:]:
            self._sink.emit("worker_restart", worker, incarnation=after.incarnation, cause=after.reason.code)
        self._follow(worker, after)

    def spawned(self, worker: str, incarnation: int, pid: int) -> None:
        """A leader lives."""
        self._born(worker, incarnation)
        self._sink.emit("worker_spawned", worker, incarnation=incarnation, pid=pid)

    def adopted(self, worker: str, incarnation: int, pid: int) -> None:
        """A new daemon found it alive."""
        self._found(worker, incarnation)
        self._sink.emit("worker_adopted", worker, incarnation=incarnation, pid=pid)

    def trouble(self, worker: str, what: str, error: Exception) -> None:
        """An effect failed; the worker goes on without it."""
        hint = error.hint if isinstance(error, GenesisError) else None
        text = str(error) or type(error).__name__
        self._sink.emit("effect_failed", worker, effect=what, text=text, hint=hint)

    def _tell_exit(self, worker: str, before: WorkerState, after: WorkerState) -> None:
        record = after.last_exit
        if record is None or record is before.last_exit:
            return
        self._sink.emit(
            "worker_exited",
            worker,
            incarnation=after.incarnation,
            code=record.code,
            signal=record.signal,
            cause=record.cause,
            text=record.text,
        )

    def _tell_phase(self, worker: str, before: WorkerState, after: WorkerState) -> None:
        moved = after.phase is not before.phase
        if after.phase is Phase.BLOCKED and after.reason != before.reason:
            self._sink.emit("gate_shut", worker, code=after.reason.code, text=after.reason.text)
        if not moved:
            return
        self._sink.emit(
            "worker_phase",
            worker,
            previous=before.phase.value,
            phase=after.phase.value,
            incarnation=after.incarnation,
            reason_code=after.reason.code,
            reason=after.reason.text,
        )
        if after.phase is Phase.READY and before.phase is Phase.WARMING and after.started is not None:
            seconds = round(after.since - after.started, 3)
            self._sink.emit("worker_ready", worker, incarnation=after.incarnation, seconds=seconds)
