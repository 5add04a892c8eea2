"""The daemon: runs its parts until told to stop.

Order matters in three places. The store opens first, since everything tells it things. Workers are adopted before
the control socket opens, so that no order meets a state that is not true yet. And READY is told last.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path

import aiohttp

import genesisd
from genesisd.clock import SystemClock
from genesisd.config import diff, load
from genesisd.config.root import Config
from genesisd.control.server import ControlServer
from genesisd.control.views import DaemonView, PatchesView, PinView, ReloadView
from genesisd.errors import ConfigError, ConflictError, GenesisError, UnavailableError
from genesisd.identity import boot_id
from genesisd.notify import Notifier
from genesisd.probes.http_client import open_session
from genesisd.store.lock import StoreLock
from genesisd.store.meta import StoreReadError
from genesisd.store.store import Store
from genesisd.supervisor.model import Phase
from genesisd.telemetry import log
from genesisd.telemetry.exposition import Exposition, Source
from genesisd.telemetry.lag import watch_loop_lag
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.passthrough import Passthrough
from genesisd.telemetry.server import MetricsServer, make_app
from genesisd.telemetry.sink import follow_store
from genesisd.wiring.api import DaemonApi
from genesisd.wiring.history import History
from genesisd.wiring.lines import LogLines
from genesisd.wiring.parts import Current, Parts
from genesisd.wiring.patchviews import patches_view, unseen
from genesisd.wiring.pinviews import pin_views
from genesisd.wiring.reload import Reloader
from genesisd.wiring.views import Sources, Views

REACH_SECONDS = 2.0
REFRESH_SECONDS = 0.5
"""How old what status remembers of the fronts may be before a look renews it."""

logger = log.get_logger(__name__)


class Daemon:
    """One run, from an opened store to a closed one. Implements ``wiring.ports.Operations``."""

    def __init__(self, config: Config, notifier: Notifier) -> None:
        self.clock = SystemClock()
        self.current = Current(config)
        self.metrics = Metrics(self.clock)
        self._notifier = notifier
        self._began = self.clock.monotonic()
        self._config_ok = True
        self.ending = asyncio.Event()
        """Set once the daemon was told to end."""
        self._drain = False
        self._refreshed = 0.0
        self.started = asyncio.Event()
        """Set once workers are adopted and orders are taken."""
        self._tasks: set[asyncio.Task[object]] = set()
        self._reloading = asyncio.Lock()
        self._reload_waits = False

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
            self._store = Store.open(paths.store, self.clock, max_rows=journal.max_rows, max_age=journal.max_age)
            await self._run_with_store()
        finally:
            lock.release()

    async def _run_with_store(self) -> None:
        try:
            async with open_session() as session:
                await self._run(session)
        finally:
            self._store.close()

    async def _run(self, session: aiohttp.ClientSession) -> None:
        self.parts = Parts(self.current, self._store, self.metrics, self.clock, session)
        self._reloader = Reloader(self.parts.supervisor, self.parts.fronts, self.metrics, self.parts.sink)
        self.views = self._make_views()
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(self._let_go)
            await self._adopt()
            await stack.enter_async_context(self._served())
            self._background(watch_loop_lag(self.metrics))
            if (interval := self._notifier.watchdog_interval) is not None:
                self._background(self._feed_watchdog(interval))
            self._background(self._show_status())
            self._background(self.parts.watch.start())
            self.parts.sink.emit("daemon_started", version=genesisd.__version__, pid=os.getpid())
            self.started.set()
            self._notifier.ready(self._summary())
            await self.ending.wait()
            self._notifier.stopping("stopping workers" if self._drain else "leaving workers running")
            self.parts.sink.emit("daemon_stopping", drain=self._drain)
            if self._drain:
                await self._stop_workers()

    async def _adopt(self) -> None:
        config, parts = self.current.config, self.parts
        follow_store(parts.sink, self.metrics, self._store, asyncio.get_running_loop())
        self.metrics.configure(config.workers)
        self.metrics.config_read(ok=True)
        for name, spec in config.workers.items():
            try:
                await parts.fronts.seat(name, spec)
            except GenesisError as error:
                parts.sink.emit("effect_failed", name, effect="front", text=error.message, hint=error.hint)
        gone = sorted(self._left() - {*config.workers})
        await parts.patched.load(config.workers)
        await parts.correctness.load([*config.workers, *gone])
        await parts.supervisor.start(config.workers, rebooted=await self._rebooted())
        parts.supervisor.reorder(tuple(config.workers))
        for name in config.workers:
            if not await parts.fingerprints.changed(name):
                continue
            spec = config.workers[name]
            parts.correctness.reconfigured(name, restarts=True)
            if parts.supervisor.was_adopted(name):
                text = "its configuration changed while no daemon ran"
                parts.supervisor.change(name, spec, restart=True, text=text)
        for name in gone:
            self._reloader.retire(name)
            self._forget(name)
        for name, state in parts.supervisor.states.items():
            self.metrics.worker_state(name, state)
        parts.correctness.start()

    def _left(self) -> set[str]:
        """Workers that an earlier daemon of this state folder had; the runtime folder may know those of another one."""
        seen = self.parts.runner.left() | self.parts.fronts.left()
        ours = {name for name in seen if (self.current.config.paths.state_dir / "workers" / name).is_dir()}
        return ours | {*self._store.workers.load()}

    async def _rebooted(self) -> bool:
        """Whether the machine was started anew since the last daemon. A full disk must not keep this one from starting."""
        known = None
        with contextlib.suppress(StoreReadError):  # the store tells of it when a state cannot be kept
            known = await self._store.meta.get("boot_id")
            await self._store.meta.set("boot_id", boot_id())
        return known not in {None, boot_id()}

    @contextlib.asynccontextmanager
    async def _served(self) -> AsyncIterator[None]:
        config = self.current.config
        api = DaemonApi(
            self.parts.supervisor,
            self.views,
            History(self._store.journal, self.parts.sink),
            LogLines(self.parts.runner),
            self,
            self.parts.correctness,
            self._store,
            self.parts.sink,
            self.clock,
        )
        group = config.daemon.control.group
        control = ControlServer(api, config.paths.socket, self.clock, watch=self.parts.watch.desk, group=group)
        async with contextlib.AsyncExitStack() as stack:
            await control.start()
            stack.push_async_callback(control.close)
            self._background(self._stay_reachable(control))
            if config.daemon.metrics.listen is not None:
                exposition = Exposition(self.metrics, refresh=self._refresh, more=self._passthrough())
                server = MetricsServer(make_app(exposition, self._health), config.daemon.metrics.listen)
                await server.start()
                stack.push_async_callback(server.stop)
                stack.push_async_callback(exposition.close)
            yield

    async def _stop_workers(self) -> None:
        longest = max((spec.stop.drain + spec.stop.grace for spec in self.parts.supervisor.specs.values()), default=0)
        self._notifier.extend_timeout(longest + 30)
        async with self._reloading:  # one that is under way may still bring workers; a later one is refused
            await self._reloader.close()
        await self.parts.correctness.end_experiments()
        await self.parts.supervisor.shutdown()
        await self.parts.fronts_link.shutdown()

    async def _let_go(self) -> None:
        """Processes live on unless they were stopped before."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        parts = self.parts
        await parts.watch.close()
        await parts.correctness.close()
        await parts.supervisor.detach()
        await parts.prober.close()
        await parts.engines.close()
        await parts.patched.close()
        await parts.fingerprints.close()
        await parts.fronts_link.detach()
        await parts.runner.close()
        parts.kernel_log.close()

    # --- upkeep -----------------------------------------------------------------------------------------------

    def _background(self, work: object) -> None:
        task: asyncio.Task[object] = asyncio.ensure_future(work)  # type: ignore[call-overload]
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _feed_watchdog(self, interval: float) -> None:
        """From the loop itself: a loop that is stuck does not ping, and systemd ends it."""
        while True:
            self._notifier.ping()
            await asyncio.sleep(interval)

    async def _stay_reachable(self, control: ControlServer) -> None:
        """A runtime folder can vanish (a logout takes the user's, a cleaner old files): then nobody could order any more."""
        complained = False
        while True:
            await asyncio.sleep(REACH_SECONDS)
            if control.reachable:
                continue
            try:
                await control.reopen()
            except (GenesisError, OSError) as error:
                if not complained:
                    logger.warning("the control socket is gone and cannot be made anew", error=str(error))
                complained = True
            else:
                logger.warning("the control socket was gone and is made anew")
                complained = False

    async def _show_status(self) -> None:
        """One line for ``systemctl status``, sent when it changes."""
        shown = ""
        while True:
            if (summary := self._summary()) != shown:
                shown = summary
                self._notifier.status(summary)
            await asyncio.sleep(2.0)

    def _summary(self) -> str:
        states = self.parts.supervisor.states.values()
        ready = sum(1 for state in states if state.phase is Phase.READY)
        wanted = sum(1 for state in states if state.wanted)
        return f"{ready} of {wanted} wanted workers ready"

    async def _refresh(self) -> None:
        """Before a scrape."""
        self.metrics.refresh()
        await self.parts.watch.refresh()
        await self._refresh_fronts()
        if any(spec.gpus for spec in self.parts.supervisor.specs.values()):
            with contextlib.suppress(GenesisError):
                self.metrics.cards((await self.parts.cards.cards()).values())

    async def _refresh_fronts(self) -> None:
        self._refreshed = self.clock.monotonic()
        await self.parts.fronts.refresh()
        for name in self.parts.supervisor.specs:
            self.metrics.front(name, self.parts.fronts.latest.get(name))

    def _health(self) -> tuple[bool, dict[str, object]]:
        return True, {"version": genesisd.__version__, "workers": len(self.parts.supervisor.specs)}

    def _passthrough(self) -> Source | None:
        on = self.current.config.daemon.metrics.passthrough
        return Passthrough(self._scrape_targets).chunks if on else None

    def _scrape_targets(self) -> dict[str, tuple[str, int]]:
        lives = {name: self.parts.runner.life(name) for name in self.parts.supervisor.specs}
        return {name: (life.host, life.port) for name, life in lives.items() if life is not None}

    def _make_views(self) -> Views:
        parts = self.parts
        return Views(
            Sources(
                supervisor=parts.supervisor,
                runner=parts.runner,
                fronts=parts.fronts,
                probes=parts.prober.views,
                adopted=parts.supervisor.was_adopted,
                shim_pid=parts.runner.shim_pid,
                build=parts.attestations.shown,
                clock=self.clock,
            )
        )

    # --- what the control API asks ----------------------------------------------------------------------------

    @property
    def config_path(self) -> Path:
        """The main configuration file."""
        return self.current.config.file

    def daemon(self) -> DaemonView:
        """About itself, from memory."""
        return DaemonView(
            version=genesisd.__version__,
            pid=os.getpid(),
            started=self._began,
            config_path=str(self.config_path),
            config_ok=self._config_ok,
            store_ok=self._store.ok,
        )

    def refresh_soon(self) -> None:
        """Somebody looks: ask the fronts, without waiting."""
        if self.clock.monotonic() - self._refreshed > REFRESH_SECONDS:
            self._background(self._refresh_fronts())

    def try_builds_again(self) -> None:
        """Forget that a pin or a build could not be made."""
        self.parts.engines.forget_failures()
        self.parts.patched.builders.forget_failures()

    async def patches(self, worker: str) -> PatchesView:
        """What the worker's processes run, looked at now."""
        life = self.parts.runner.life(worker)
        spec = self.parts.supervisor.specs[worker]
        if life is None:
            raise ConflictError(f"worker {worker} does not run", hint=f"genesisctl workers start {worker}")
        try:
            look = await self.parts.attestations.look(life)
        except OSError as error:
            hint = f"mend that, or start the worker anew: genesisctl workers restart {worker}"
            raise UnavailableError(f"what {worker} runs could not be looked at: {error}", hint=hint) from error
        self.parts.attestations.note(life, look)
        shown = self.parts.attestations.shown(worker, life.incarnation) or unseen(spec.pin)
        return patches_view(worker, shown, look, spec.patches.attribution)

    def refuse_when_stopping(self) -> None:
        """Raises ConflictError while the daemon ends."""
        if self.ending.is_set():
            raise ConflictError("the daemon is shutting down", hint="start it again first")

    async def pins(self) -> Sequence[PinView]:
        """The pins file, and what is built."""
        config = self.current.config
        return await asyncio.to_thread(pin_views, config.pins, config.paths.cache_dir)

    async def reload(self) -> ReloadView:
        """Read the configuration again. Raises ConfigError and changes nothing."""
        async with self._reloading:
            return await self._reload()

    async def _reload(self) -> ReloadView:
        self.refuse_when_stopping()
        self._notifier.reloading()
        try:
            return await self._take_over()
        finally:
            self._notifier.ready(self._summary())

    async def _take_over(self) -> ReloadView:
        try:
            new = await asyncio.to_thread(load, self.config_path)
        except ConfigError as error:
            self._config_ok = False
            self.parts.sink.emit("config_rejected", error=error.message)
            raise
        difference = diff(self.current.config, new)
        self.current.config = new
        self._config_ok = True
        self.parts.engines.pins_file = new.pins
        self.try_builds_again()
        log.set_level(new.daemon.log.level)
        view = await self._reloader.apply(new, difference)
        for name in difference.removed:
            self._forget(name)
            self._reloader.when_left(name, partial(self._forget, name))  # until then it may say something still
        for name, change in difference.changed.items():
            self.parts.correctness.reconfigured(name, restarts=change.restart)
        await self.parts.watch.reconfigured()
        self.parts.sink.emit(
            "config_reloaded", added=list(view.added), removed=list(view.removed), changed=list(view.changed)
        )
        return view

    def _forget(self, name: str) -> None:
        """It left the configuration: one that comes back under its name is another worker."""
        self.views.forget(name)
        self.parts.patched.forget(name)
        self.parts.attestations.forget(name)
        self.parts.correctness.forget(name)

    def reload_soon(self) -> None:
        """SIGHUP: a bad file is told in log, journal and metrics, and the old one stays in force.

        One reload that has not begun reads the file for all signals that came before it.
        """

        async def quietly() -> None:
            await self.started.wait()
            async with self._reloading:
                self._reload_waits = False
                with contextlib.suppress(GenesisError):
                    await self._reload()

        if not self._reload_waits:
            self._reload_waits = True
            self._background(quietly())

    def stop(self, *, drain: bool) -> None:
        """Begin to end; with ``drain`` the workers are stopped, else they live on."""
        self._drain = self._drain or drain
        self.ending.set()

    def interrupt(self) -> None:
        """Ctrl-C: drain and end; once more: whoever sits there does not want to wait for the drains."""
        if self.ending.is_set() and self.started.is_set():
            self.parts.supervisor.hurry()
        self.stop(drain=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o750)
    except OSError as error:
        raise ConfigError(
            f"cannot make the folder {folder}: {error.strerror}",
            hint="run as a user that may write there, or set daemon.state_dir, runtime_dir and cache_dir",
            path=str(folder),
        ) from error
