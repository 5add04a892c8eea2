"""A new configuration, applied to what runs: only what changed is touched."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from genesisd.config.diff import ConfigDiff
from genesisd.config.root import Config
from genesisd.control.views import ReloadView
from genesisd.errors import GenesisError
from genesisd.supervisor.ports import EventSink
from genesisd.supervisor.supervisor import Supervisor
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.fronts import FrontAdapter, wants_front


class Reloader:
    """Applies differences. Workers that leave are drained in the background, so that a reload answers at once."""

    def __init__(self, supervisor: Supervisor, fronts: FrontAdapter, metrics: Metrics, sink: EventSink) -> None:
        self._supervisor = supervisor
        self._fronts = fronts
        self._metrics = metrics
        self._sink = sink
        self._leaving: dict[str, asyncio.Task[None]] = {}

    async def apply(self, new: Config, difference: ConfigDiff) -> ReloadView:
        """Touch what differs and say what that was."""
        self._metrics.configure(new.workers)
        for name in difference.removed:
            self._remove(name)
        for name, change in difference.changed.items():
            if wants_front(change.new) or not self._supervisor.actor(name).state.wanted:
                await self._seat(name, new)
            # Else it restarts, and its gate ends the front: by then what runs through it has been drained.
            text = "its configuration changed: " + ", ".join(change.fields)
            self._supervisor.change(name, change.new, restart=change.restart, text=text)
        await asyncio.gather(*(self._add(name, new) for name in difference.added))
        self._supervisor.reorder(tuple(new.workers))
        for name, state in self._supervisor.states.items():
            self._metrics.worker_state(name, state)
        return _view(new, difference)

    async def _add(self, name: str, new: Config) -> None:
        if (leaving := self._leaving.get(name)) is not None:
            # Only waited for: whoever gives up this reload must not cut the removal short.
            await asyncio.wait({leaving})
        await self._seat(name, new)
        await self._supervisor.add_new(name, new.workers[name])

    async def _seat(self, name: str, new: Config) -> None:
        try:
            await self._fronts.seat(name, new.workers[name])
        except GenesisError as error:
            self._sink.emit("effect_failed", name, effect="front", text=error.message, hint=error.hint)

    def _remove(self, name: str) -> None:
        self._leave_by(name, self._leave(name))

    def _leave_by(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"remove {name}")
        self._leaving[name] = task
        task.add_done_callback(lambda _: self._leaving.pop(name, None))

    def retire(self, name: str) -> None:
        """End, in the background, what is left of a worker that was configured when an earlier daemon ran."""
        self._leave_by(name, self._retire(name))

    async def _retire(self, name: str) -> None:
        await self._fronts.take(name)
        await self._supervisor.retire(name)
        await self._let_go(name)

    async def _leave(self, name: str) -> None:
        await self._supervisor.remove(name)
        await self._let_go(name)

    async def _let_go(self, name: str) -> None:
        """The last of it. Told, since a daemon that is killed before leaves the rest of the work to the next one."""
        await self._fronts.unseat(name)
        self._sink.emit("worker_removed", name)

    def when_left(self, name: str, call: Callable[[], None]) -> None:
        """Call once the worker's removal is over."""
        if (leaving := self._leaving.get(name)) is not None:
            leaving.add_done_callback(lambda _: call())

    async def close(self) -> None:
        """Wait for those that leave."""
        await asyncio.gather(*self._leaving.values(), return_exceptions=True)


def _view(new: Config, difference: ConfigDiff) -> ReloadView:
    touched = {*difference.added, *difference.changed}
    warnings = tuple(f"{field} takes effect when the daemon is restarted" for field in difference.daemon_restart)
    return ReloadView(
        added=difference.added,
        removed=difference.removed,
        changed=tuple(difference.changed),
        restarted=tuple(name for name, change in difference.changed.items() if change.restart),
        unchanged=tuple(name for name in new.workers if name not in touched),
        warnings=warnings,
    )
