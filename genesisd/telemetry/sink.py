"""Where domain events go: journal, metrics, log, and whoever listens. Implements ``supervisor.ports.EventSink``."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from genesisd.clock import Clock, SystemClock
from genesisd.telemetry.events import kind_of
from genesisd.telemetry.log import get_logger
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.subscription import Subscription, Told

Listener = Callable[[Told], None]


class _Kept(Protocol):
    @property
    def id(self) -> int: ...


class EventJournal(Protocol):
    """What the sink needs of the store's journal."""

    def append(
        self, at: float, kind: str, worker: str | None, incarnation: int | None, fields: Mapping[str, Any]
    ) -> _Kept:
        """Queue an event; never blocks."""
        ...


class Trouble(Protocol):
    """One problem of the store."""

    @property
    def code(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def path(self) -> str: ...


class TroubledStore(Protocol):
    """What ``follow_store`` needs of the store."""

    problems: list[Any]
    on_problem: Callable[[Any], None]
    on_error_count: Callable[[int], None]


class Sink:
    """``emit`` never blocks and never raises: a receiver that fails costs its own copy, and is counted.

    Call it on the loop's thread.
    """

    def __init__(self, metrics: Metrics, journal: EventJournal | None = None, clock: Clock | None = None) -> None:
        self._metrics = metrics
        self._journal = journal
        self._clock = clock or SystemClock()
        self._log = get_logger("genesisd.events")
        self._listeners: list[Listener] = []

    def emit(self, kind: str, worker: str | None = None, /, **fields: Any) -> None:
        """Tell everybody that something happened now."""
        treat = kind_of(kind)
        incarnation = fields.get("incarnation")
        if not isinstance(incarnation, int):
            incarnation = None
        rest = {name: value for name, value in fields.items() if name != "incarnation"}
        at = self._clock.wall()
        kept = self._keep(at, kind, worker, incarnation, rest) if treat.journal else None
        self._receive(self._count, kind, worker, fields, kept is not None)
        self._receive(self._write, treat.level, kind, worker, incarnation, rest)
        told = Told(kept, at, kind, worker, incarnation, rest)
        for listener in tuple(self._listeners):
            self._receive(listener, told)

    def _keep(
        self, at: float, kind: str, worker: str | None, incarnation: int | None, fields: Mapping[str, Any]
    ) -> int | None:
        if self._journal is None:
            return None
        try:
            return self._journal.append(at, kind, worker, incarnation, fields).id
        except Exception:  # noqa: BLE001 (supervision must not stop because a field cannot be serialised)
            self._metrics.sink_error()
            return None

    def _count(self, kind: str, worker: str | None, fields: Mapping[str, Any], journalled: bool) -> None:
        self._metrics.event(kind, worker, fields, journalled=journalled)

    def _receive(self, receiver: Callable[..., None], *arguments: object) -> None:
        try:
            receiver(*arguments)
        except Exception:  # noqa: BLE001 (as above, for every receiver)
            self._metrics.sink_error()

    def _write(
        self, level: str, kind: str, worker: str | None, incarnation: int | None, fields: Mapping[str, Any]
    ) -> None:
        who = {name: value for name, value in (("worker", worker), ("incarnation", incarnation)) if value is not None}
        # "event" and "level" are structlog's own words: a field of that name must not take their place.
        safe = {name if name not in ("event", "level") else f"{name}_": value for name, value in fields.items()}
        getattr(self._log, level)(kind, **who, **safe)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each event; it must not block. Returns what ends it."""
        self._listeners.append(listener)

        def end() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return end

    @contextmanager
    def subscribe(self, capacity: int = 1024) -> Iterator[Subscription]:
        """A stream of events, for as long as the context is open."""
        subscription = Subscription(capacity)
        end = self.listen(subscription.put)
        try:
            yield subscription
        finally:
            end()


def follow_store(sink: Sink, metrics: Metrics, store: TroubledStore, loop: asyncio.AbstractEventLoop) -> None:
    """Tell the store's troubles as ``store_error`` events: those of its opening now, later ones as they come."""

    def tell(problem: Trouble) -> None:
        sink.emit("store_error", code=problem.code, text=problem.text, path=problem.path)

    def from_thread(function: Callable[[Any], None]) -> Callable[[Any], None]:
        def call(value: Any) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(function, value)

        return call

    store.on_error_count = from_thread(metrics.store_errors)
    store.on_problem = from_thread(tell)
    for problem in store.problems:
        tell(problem)
