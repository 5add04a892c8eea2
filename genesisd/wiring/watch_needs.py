"""What the upstream watch takes from the daemon."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import aiohttp

from genesisd.clock import Clock
from genesisd.config.root import Config
from genesisd.store.store import Store
from genesisd.supervisor.ports import EventSink
from genesisd.telemetry.watch_metrics import WatchMetrics
from genesisd.wiring.watch_workers import WatchedWorkers


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchNeeds:
    """Declared once, for the watch and for what loads it late.

    Attributes:
        config: in force.
        store: keeps everything.
        session: whose connections are used.
        sink, metrics: are told.
        clock: the time.
        workers: facts for predicates.
    """

    config: Callable[[], Config]
    store: Store
    session: aiohttp.ClientSession
    sink: EventSink
    metrics: WatchMetrics
    clock: Clock
    workers: WatchedWorkers
