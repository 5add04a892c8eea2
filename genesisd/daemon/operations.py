"""What the control API asks of the daemon itself."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import genesisd
from genesisd.control.views import DaemonView, PatchesView, PinView, ReloadView
from genesisd.daemon.ending import Ending
from genesisd.daemon.looks import Looks
from genesisd.daemon.reloads import Reloads
from genesisd.daemon.take_over import TakeOver
from genesisd.errors import ConflictError, UnavailableError
from genesisd.store.store import Store
from genesisd.wiring.current import Current
from genesisd.wiring.parts import Parts
from genesisd.wiring.patchviews import patches_view, unseen
from genesisd.wiring.pinviews import pin_views


class DaemonOperations:
    """Implements ``wiring.ports.Operations``.

    Args:
        began: when the daemon did, CLOCK_MONOTONIC.
    """

    def __init__(
        self,
        current: Current,
        parts: Parts,
        store: Store,
        take_over: TakeOver,
        reloads: Reloads,
        looks: Looks,
        ending: Ending,
        began: float,
    ) -> None:
        self._current = current
        self._parts = parts
        self._store = store
        self._take_over = take_over
        self._looks = looks
        self._began = began
        self._reloads = reloads
        self._ending = ending

    @property
    def config_path(self) -> Path:
        """The main configuration file."""
        return self._current.config.file

    def daemon(self) -> DaemonView:
        """About itself, from memory."""
        return DaemonView(
            version=genesisd.__version__,
            pid=os.getpid(),
            started=self._began,
            config_path=str(self.config_path),
            config_ok=self._take_over.config_ok,
            store_ok=self._store.ok,
        )

    def refresh_soon(self) -> None:
        """Somebody looks: ask the fronts, without waiting."""
        self._looks.fronts_soon()

    def try_builds_again(self) -> None:
        """Forget that a pin or a build could not be made."""
        self._take_over.try_builds_again()

    def refuse_when_stopping(self) -> None:
        """Raises ConflictError while the daemon ends."""
        self._ending.refuse_orders()

    async def pins(self) -> Sequence[PinView]:
        """The pins file, and what is built."""
        config = self._current.config
        return await asyncio.to_thread(pin_views, config.pins, config.paths.cache_dir)

    async def patches(self, worker: str) -> PatchesView:
        """What the worker's processes run, looked at now."""
        life = self._parts.runner.life(worker)
        spec = self._parts.supervisor.specs[worker]
        if life is None:
            raise ConflictError(f"worker {worker} does not run", hint=f"genesisctl workers start {worker}")
        try:
            look = await self._parts.attestations.look(life)
        except OSError as error:
            hint = f"mend that, or start the worker anew: genesisctl workers restart {worker}"
            raise UnavailableError(f"what {worker} runs could not be looked at: {error}", hint=hint) from error
        self._parts.attestations.note(life, look)
        shown = self._parts.attestations.shown(worker, life.incarnation) or unseen(spec.pin)
        return patches_view(worker, shown, look, spec.patches.attribution)

    async def reload(self) -> ReloadView:
        """Read the configuration again. Raises ConfigError and changes nothing."""
        return await self._reloads.now()

    def stop(self, *, drain: bool) -> None:
        """Begin to end; with ``drain`` the workers are stopped, else they live on."""
        self._ending.begin(drain=drain)
