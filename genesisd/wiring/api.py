"""The control API, by the daemon: translates orders into events and answers from memory."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import AsyncIterator, Collection, Sequence
from pathlib import Path

import genesisd
from genesisd.clock import Clock
from genesisd.control.ports import Peer, WaitTimeoutError
from genesisd.control.views import (
    ConfigCheckView,
    DaemonView,
    EventView,
    PatchesView,
    PinView,
    ReloadView,
    StatusView,
    VersionView,
    WorkerView,
)
from genesisd.errors import ConfigError
from genesisd.store.store import Store
from genesisd.supervisor.model import (
    Event,
    Phase,
    ResetRequested,
    RestartRequested,
    StartRequested,
    StopRequested,
)
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.checking import check_file
from genesisd.wiring.correctness import Correctness
from genesisd.wiring.correctness_api import CorrectnessApi
from genesisd.wiring.history import History
from genesisd.wiring.lines import LogLines
from genesisd.wiring.ports import Operations
from genesisd.wiring.views import Views


class DaemonApi(CorrectnessApi):
    """Implements ``control.ports.Api``."""

    def __init__(
        self,
        supervisor: Supervisor,
        views: Views,
        history: History,
        lines: LogLines,
        operations: Operations,
        correctness: Correctness,
        store: Store,
        sink: EventSink,
        clock: Clock,
    ) -> None:
        super().__init__(supervisor, correctness, store, sink, clock)
        self._views = views
        self._history = history
        self._lines = lines
        self._operations = operations

    # --- asked often ------------------------------------------------------------------------------------------

    def status(self) -> StatusView:
        """The daemon and all its workers."""
        self._operations.refresh_soon()
        return StatusView(self._daemon(), self._views.workers())

    def workers(self) -> Sequence[WorkerView]:
        """All workers, in the order of the configuration."""
        return self._views.workers()

    def worker(self, name: str) -> WorkerView:
        """One worker. Raises NotFoundError."""
        self._operations.refresh_soon()
        return self._views.worker(name)

    def version(self) -> VersionView:
        """Who answers."""
        return VersionView(genesisd.__version__, platform.python_version())

    def _daemon(self) -> DaemonView:
        return self._operations.daemon()

    # --- orders -----------------------------------------------------------------------------------------------

    async def start(self, name: str, peer: Peer) -> WorkerView:
        """Want the worker up. One that was given up begins anew, for the judge too."""
        self._operations.try_builds_again()
        self._begin_anew(name)
        return await self._order(name, "start", peer, StartRequested(self._clock.monotonic()))

    async def stop(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        """Want it down, for good. A search for the patch to blame ends with it."""
        self._nothing_tried(name)
        event = StopRequested(self._clock.monotonic(), drain=drain, text=f"stopped by {peer}")
        return await self._order(name, "stop", peer, event)

    async def restart(self, name: str, peer: Peer, *, drain: bool = True) -> WorkerView:
        """Stop and start again, without spending the restart budget."""
        self._begin_anew(name)
        event = RestartRequested(self._clock.monotonic(), text=f"restart asked for by {peer}", drain=drain)
        return await self._order(name, "restart", peer, event)

    async def drain(self, name: str, peer: Peer) -> WorkerView:
        """Take no new request, finish what is in flight, then stay down."""
        self._nothing_tried(name)
        event = StopRequested(self._clock.monotonic(), text=f"drained by {peer}")
        return await self._order(name, "drain", peer, event)

    async def reset(self, name: str, peer: Peer) -> WorkerView:
        """Forget its failures, and what it was taken back from; a wanted worker starts again."""
        self._operations.try_builds_again()
        self._supervisor.orderable(name)
        self._operations.refuse_when_stopping()
        self._correctness.forgive(name, lift=True)
        return await self._order(name, "reset", peer, ResetRequested(self._clock.monotonic()))

    def _begin_anew(self, name: str) -> None:
        """What is down was given up or stopped: whoever wants it up wants it judged from the first step on."""
        state = self._supervisor.orderable(name).state
        self._operations.refuse_when_stopping()
        if state.phase in {Phase.STOPPED, Phase.FAILED}:
            self._correctness.forgive(name, lift=False)

    def _nothing_tried(self, name: str) -> None:
        self._supervisor.orderable(name)
        self._operations.refuse_when_stopping()
        self._correctness.stopped(name)

    async def _order(self, name: str, verb: str, peer: Peer, event: Event) -> WorkerView:
        actor = self._supervisor.orderable(name)
        self._operations.refuse_when_stopping()
        self._sink.emit("order", name, verb=verb, peer=str(peer))
        await actor.decide(event)
        return self._views.worker(name)

    async def wait_for(self, name: str, phases: Collection[Phase], timeout: float) -> WorkerView:  # noqa: ASYNC109 - the wire carries the deadline
        """Return once the worker is in one of ``phases``. Raises WaitTimeoutError."""
        actor = self._supervisor.actor(name)
        try:
            async with asyncio.timeout(timeout):
                await actor.until(frozenset(phases))
        except TimeoutError:
            state = actor.state
            raise WaitTimeoutError(
                f"{name} is {state.phase} after {timeout:g} s: {state.reason.text}",
                hint=f"genesisctl workers show {name}; genesisctl logs {name}",
                worker=name,
                phase=state.phase.value,
            ) from None
        return self._views.worker(name)

    # --- the rest ---------------------------------------------------------------------------------------------

    def logs(self, name: str, lines: int, *, follow: bool) -> AsyncIterator[str]:
        """The last log lines, and then each new one while ``follow``."""
        self._supervisor.actor(name)
        return self._lines.read(name, lines, follow=follow)

    def events(self, since: float | None, *, follow: bool, worker: str | None) -> AsyncIterator[EventView]:
        """Events from wall time ``since`` on."""
        return self._history.read(since, follow=follow, worker=worker)

    async def patches(self, name: str) -> PatchesView:
        """What the worker's processes were found to run. Raises NotFoundError, and ConflictError where it has none."""
        self._supervisor.actor(name)
        return await self._operations.patches(name)

    async def pins(self) -> Sequence[PinView]:
        """The pins file, and what is built."""
        return await self._operations.pins()

    async def reload(self, peer: Peer) -> ReloadView:
        """Read the configuration again and touch only what changed."""
        self._operations.refuse_when_stopping()
        self._sink.emit("order", None, verb="reload", peer=str(peer))
        return await self._operations.reload()

    async def check_config(self, path: str | None) -> ConfigCheckView:
        """Look at a configuration without using it."""
        target = Path(path) if path is not None else self._operations.config_path
        if not target.is_absolute():
            raise ConfigError(f"{target} is relative", hint="the daemon has another working folder: give a full path")
        return await asyncio.to_thread(check_file, target)

    async def shutdown(self, peer: Peer, *, drain: bool) -> None:
        """Begin to end the daemon and return."""
        self._sink.emit("order", None, verb="shutdown", peer=str(peer), drain=drain)
        self._operations.stop(drain=drain)
