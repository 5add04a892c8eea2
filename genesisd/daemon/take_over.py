"""What the file says becomes what is in force."""

from __future__ import annotations

import asyncio
from functools import partial

from genesisd.config import diff, load
from genesisd.config.diff import ConfigDiff
from genesisd.config.root import Config
from genesisd.control.views import ReloadView
from genesisd.errors import ConfigError
from genesisd.telemetry import log
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.current import Current
from genesisd.wiring.parts import Parts
from genesisd.wiring.reload import Reloader
from genesisd.wiring.views import Views


class TakeOver:
    """Replaces the configuration, and lets every part know of it.

    Attributes:
        config_ok: whether the file could be used when it was last read.
    """

    def __init__(self, current: Current, parts: Parts, views: Views, metrics: Metrics) -> None:
        self.config_ok = True
        self._current = current
        self._parts = parts
        self._views = views
        self._reloader = Reloader(parts.supervisor, parts.fronts, metrics, parts.sink)

    async def from_file(self) -> ReloadView:
        """Read the file again. Raises ConfigError and changes nothing."""
        try:
            new = await asyncio.to_thread(load, self._current.config.file)
        except ConfigError as error:
            self.config_ok = False
            self._parts.sink.emit("config_rejected", error=error.message)
            raise
        difference = diff(self._current.config, new)
        self._put_in_force(new)
        view = await self._reloader.apply(new, difference)
        await self._tell_parts(difference)
        self._parts.sink.emit(
            "config_reloaded", added=list(view.added), removed=list(view.removed), changed=list(view.changed)
        )
        return view

    def _put_in_force(self, new: Config) -> None:
        self._current.config = new
        self.config_ok = True
        self._parts.engines.pins_file = new.pins
        self.try_builds_again()
        log.set_level(new.daemon.log.level)

    async def _tell_parts(self, difference: ConfigDiff) -> None:
        for name in difference.removed:
            self._forget(name)
            self._reloader.when_left(name, partial(self._forget, name))  # until then it may say something still
        for name, change in difference.changed.items():
            self._parts.correctness.reconfigured(name, restarts=change.restart)
        await self._parts.watch.reconfigured()

    def try_builds_again(self) -> None:
        """Forget that a pin or a build could not be made."""
        self._parts.engines.forget_failures()
        self._parts.patched.builders.forget_failures()

    def retire(self, name: str) -> None:
        """End, in the background, what is left of a worker that was configured when an earlier daemon ran."""
        self._reloader.retire(name)
        self._forget(name)

    def _forget(self, name: str) -> None:
        """It left the configuration: one that comes back under its name is another worker."""
        self._views.forget(name)
        self._parts.patched.forget(name)
        self._parts.attestations.forget(name)
        self._parts.correctness.forget(name)

    async def close(self) -> None:
        """Wait for those that leave."""
        await self._reloader.close()
