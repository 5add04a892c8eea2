"""What a daemon does about what an earlier one left: workers are adopted, or found gone, before anybody may order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from genesisd.daemon.take_over import TakeOver
from genesisd.errors import GenesisError
from genesisd.identity import boot_id
from genesisd.store.meta import StoreReadError
from genesisd.store.store import Store
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import follow_store
from genesisd.wiring.current import Current
from genesisd.wiring.parts import Parts


class Arrival:
    """The first thing of a run, once."""

    def __init__(self, current: Current, parts: Parts, store: Store, metrics: Metrics, take_over: TakeOver) -> None:
        self._current = current
        self._parts = parts
        self._store = store
        self._metrics = metrics
        self._take_over = take_over

    async def adopt(self) -> None:
        """Make every state true. The order is: fronts, since clients wait; what is known of workers; the workers."""
        workers, parts = self._current.config.workers, self._parts
        follow_store(parts.sink, self._metrics, self._store, asyncio.get_running_loop())
        self._metrics.configure(workers)
        self._metrics.config_read(ok=True)
        await self._seat(workers)
        gone = sorted(self._left() - {*workers})
        await parts.patched.load(workers)
        await parts.correctness.load([*workers, *gone])
        await parts.supervisor.start(workers, rebooted=await self._rebooted())
        parts.supervisor.reorder(tuple(workers))
        for name, spec in workers.items():
            await self._compare(name, spec)
        for name in gone:
            self._take_over.retire(name)
        for name, state in parts.supervisor.states.items():
            self._metrics.worker_state(name, state)
        parts.correctness.start()

    async def _seat(self, workers: Mapping[str, WorkerSpec]) -> None:
        for name, spec in workers.items():
            try:
                await self._parts.fronts.seat(name, spec)
            except GenesisError as error:
                self._parts.sink.emit("effect_failed", name, effect="front", text=error.message, hint=error.hint)

    async def _compare(self, name: str, spec: WorkerSpec) -> None:
        """With the configuration that the worker was started with."""
        if not await self._parts.fingerprints.changed(name):
            return
        self._parts.correctness.reconfigured(name, restarts=True)
        if self._parts.supervisor.was_adopted(name):
            text = "its configuration changed while no daemon ran"
            self._parts.supervisor.change(name, spec, restart=True, text=text)

    def _left(self) -> set[str]:
        """Workers that an earlier daemon of this state folder had; the runtime folder may know those of another one."""
        seen = self._parts.runner.left() | self._parts.fronts.left()
        ours = {name for name in seen if (self._current.config.paths.state_dir / "workers" / name).is_dir()}
        return ours | {*self._store.workers.load()}

    async def _rebooted(self) -> bool:
        """Whether the machine was started anew since the last daemon. A full disk must not keep this one from starting."""
        known = None
        with contextlib.suppress(StoreReadError):  # the store tells of it when a state cannot be kept
            known = await self._store.meta.get("boot_id")
            await self._store.meta.set("boot_id", boot_id())
        return known not in {None, boot_id()}
