"""One run of the daemon, from an opened store to a closed one.

Order matters in three places. The store opens first, since everything tells it things. Workers are adopted before
the control socket opens, so that no order meets a state that is not true yet. And READY is told last.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import aiohttp

import genesisd
from genesisd.clock import SystemClock
from genesisd.config.root import Config
from genesisd.control.views import ReloadView
from genesisd.daemon.arrival import Arrival
from genesisd.daemon.background import Background
from genesisd.daemon.ending import Ending
from genesisd.daemon.looks import Looks
from genesisd.daemon.operations import DaemonOperations
from genesisd.daemon.reloads import Reloads
from genesisd.daemon.sockets import showing_metrics, taking_orders
from genesisd.daemon.take_over import TakeOver
from genesisd.daemon.told_systemd import feed_watchdog, show_status, summary
from genesisd.errors import ConfigError
from genesisd.notify import Notifier
from genesisd.probes.http_client import open_session
from genesisd.store.lock import StoreLock
from genesisd.store.store import Store
from genesisd.telemetry.lag import watch_loop_lag
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.api import DaemonApi
from genesisd.wiring.current import Current
from genesisd.wiring.history import History
from genesisd.wiring.lines import LogLines
from genesisd.wiring.parts import Parts
from genesisd.wiring.views import Sources, Views


class Daemon:
    """Runs its parts until told to stop.

    Attributes:
        started: set once workers are adopted and orders are taken.
        ending: set once it was told to end.
    """

    def __init__(self, config: Config, notifier: Notifier) -> None:
        self.clock = SystemClock()
        self.current = Current(config)
        self.metrics = Metrics(self.clock)
        self.started = asyncio.Event()
        self.ending = Ending()
        self._notifier = notifier
        self._began = self.clock.monotonic()
        self._background = Background()
        self.reloads = Reloads(self._reload, self.started, self._background)

    # --- what it is told from outside: signals ----------------------------------------------------------------

    def reload_soon(self) -> None:
        """SIGHUP: read the configuration again, once it is up."""
        self.reloads.soon()

    def stop(self, *, drain: bool) -> None:
        """Begin to end; with ``drain`` the workers are stopped, else they live on."""
        self.ending.begin(drain=drain)

    def interrupt(self) -> None:
        """Ctrl-C: drain and end; once more: whoever sits there does not want to wait for the drains."""
        if self.ending.is_set() and self.started.is_set():
            self.parts.supervisor.hurry()
        self.stop(drain=True)

    # --- life -------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Until ``stop``. Raises GenesisError when it cannot start; then nothing of it is left running."""
        paths = self.current.config.paths
        for folder in (paths.state_dir, paths.runtime_dir, paths.cache_dir):
            _make(folder)
        journal = self.current.config.daemon.journal
        # Shims and fronts are found there by the names of workers: two daemons would take each other's.
        lock = StoreLock(paths.runtime_dir / "genesisd.lock", "runtime_dir")
        try:
            self.store = Store.open(paths.store, self.clock, max_rows=journal.max_rows, max_age=journal.max_age)
            await self._run_with_store()
        finally:
            lock.release()

    async def _run_with_store(self) -> None:
        try:
            async with open_session() as session:
                await self._run(session)
        finally:
            self.store.close()

    async def _run(self, session: aiohttp.ClientSession) -> None:
        self._build(session)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._let_go)
            await Arrival(self.current, self.parts, self.store, self.metrics, self._take_over).adopt()
            await self._open(stack)
            self._begin_upkeep()
            self.parts.sink.emit("daemon_started", version=genesisd.__version__, pid=os.getpid())
            self.started.set()
            self._notifier.ready(summary(self.parts.supervisor))
            await self.ending.wait()
            await self._end()

    def _build(self, session: aiohttp.ClientSession) -> None:
        self.parts = Parts(self.current, self.store, self.metrics, self.clock, session)
        self.views = _views(self.parts, self.clock)
        self._take_over = TakeOver(self.current, self.parts, self.views, self.metrics)
        self._looks = Looks(self.parts, self.metrics, self.clock, self._background)
        self.operations = DaemonOperations(
            self.current,
            self.parts,
            self.store,
            self._take_over,
            self.reloads,
            self._looks,
            self.ending,
            self._began,
        )

    async def _open(self, stack: contextlib.AsyncExitStack) -> None:
        config, parts = self.current.config, self.parts
        api = DaemonApi(
            parts.supervisor,
            self.views,
            History(self.store.journal, parts.sink),
            LogLines(parts.runner),
            self.operations,
            parts.correctness,
            self.store,
            parts.sink,
            self.clock,
        )
        orders = taking_orders(config, api, parts.watch.desk, self.clock, self._background)
        await stack.enter_async_context(orders)
        await stack.enter_async_context(showing_metrics(config, self.metrics, self._looks))

    def _begin_upkeep(self) -> None:
        self._background.begin(watch_loop_lag(self.metrics))
        if (interval := self._notifier.watchdog_interval) is not None:
            self._background.begin(feed_watchdog(self._notifier, interval))
        self._background.begin(show_status(self._notifier, self.parts.supervisor))
        self._background.begin(self.parts.watch.start())

    async def _reload(self) -> ReloadView:
        self.ending.refuse_orders()
        self._notifier.reloading()
        try:
            return await self._take_over.from_file()
        finally:
            self._notifier.ready(summary(self.parts.supervisor))

    # --- end --------------------------------------------------------------------------------------------------

    async def _end(self) -> None:
        self._notifier.stopping("stopping workers" if self.ending.drain else "leaving workers running")
        self.parts.sink.emit("daemon_stopping", drain=self.ending.drain)
        if self.ending.drain:
            await self._stop_workers()

    async def _stop_workers(self) -> None:
        longest = max((spec.stop.drain + spec.stop.grace for spec in self.parts.supervisor.specs.values()), default=0)
        self._notifier.extend_timeout(longest + 30)
        async with self.reloads.turn:  # one that is under way may still bring workers; a later one is refused
            await self._take_over.close()
        await self.parts.correctness.end_experiments()
        await self.parts.supervisor.shutdown()
        await self.parts.fronts_link.shutdown()

    async def _let_go(self) -> None:
        """Processes live on unless they were stopped before."""
        await self._background.end()
        await self.parts.close()


def _views(parts: Parts, clock: SystemClock) -> Views:
    return Views(
        Sources(
            supervisor=parts.supervisor,
            runner=parts.runner,
            fronts=parts.fronts,
            probes=parts.prober.views,
            adopted=parts.supervisor.was_adopted,
            shim_pid=parts.runner.shim_pid,
            build=parts.attestations.shown,
            clock=clock,
        )
    )


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        raise ConfigError(
            f"cannot make the folder {folder}: {error.strerror}",
            hint="run as a user that may write there, or set daemon.state_dir, runtime_dir and cache_dir",
            path=str(folder),
        ) from error
