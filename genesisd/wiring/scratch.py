"""Scratch workers: a worker's twin without a public address, for an experiment, ended when it is over.

They are supervised like any other: gates, shim, scratch folders, attestation. So one that its daemon left is found by
the next daemon, which ends it, since no configuration knows it.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import TypeVar

from genesisd.config.paths import Paths
from genesisd.errors import GenesisError
from genesisd.probes.ports import Target
from genesisd.supervisor.actor import Actor
from genesisd.supervisor.model import Phase, StartRequested
from genesisd.supervisor.ports import EventSink, Life
from genesisd.supervisor.spec import SCRATCH, FrontSpec, RestartSpec, WorkerSpec
from genesisd.supervisor.supervisor import DOWN, Supervisor
from genesisd.wiring.overrides import Experiment, WorkerOverrides

PATIENCE = 60.0
"""Seconds that a scratch worker waits for a gate that nobody here opens: a card, a port."""
OPENING = frozenset({"build-making", "pin-building", "tree"})
"""Gates that open by themselves."""
_LOOK = 0.5
_Answer = TypeVar("_Answer")


class ScratchError(GenesisError):
    """The scratch worker could not be had; the message says what stood against it."""

    code = "scratch"


@dataclass(slots=True)
class Scratch:
    """Starts twins, one question each."""

    supervisor: Callable[[], Supervisor]
    overrides: WorkerOverrides
    target: Callable[[Life, WorkerSpec, str], Target]
    life: Callable[[str], Life | None]
    forget: Callable[[str], None]
    paths: Paths
    sink: EventSink
    monotonic: Callable[[], float]

    async def run(
        self, worker: str, pin: str, without: Collection[str], text: str, ask: Callable[[Target], Awaitable[_Answer]]
    ) -> _Answer:
        """Start a twin of ``worker`` on ``pin`` without these patches, wait until it is ready, ask, and end it.

        The pin is said, since a worker that was taken back does not run the one that is configured.

        Raises:
            ScratchError: it did not become ready, or a gate stayed shut.
        """
        name = SCRATCH + secrets.token_hex(3)
        spec = twin(self.supervisor().specs[worker], worker, pin)
        self.overrides.experiments[name] = Experiment(frozenset(without), text)
        self.sink.emit("scratch_started", worker, scratch=name, without=sorted(without), text=text)
        try:
            await self.supervisor().add_new(name, spec)
            return await ask(self.target(await self._ready(name, spec), spec, worker))
        finally:
            await self._end(worker, name)

    async def run_instead(
        self, worker: str, pin: str, without: Collection[str], text: str, ask: Callable[[Target], Awaitable[_Answer]]
    ) -> _Answer:
        """The same once the worker itself is down, and what an earlier daemon started for it: there is room for one.

        Raises ScratchError.
        """
        actor = self.supervisor().actor(worker)
        while (self.life(worker) is not None and actor.state.phase not in DOWN) or self._leaving():
            await _change(actor)
        return await self.run(worker, pin, without, text, ask)

    def _leaving(self) -> bool:
        """Whether an earlier daemon's experiment is being ended."""
        return any(name.startswith(SCRATCH) for name in self.supervisor().actors.keys() - self.overrides.experiments)

    async def _ready(self, name: str, spec: WorkerSpec) -> Life:
        actor = self.supervisor().actor(name)
        actor.post(StartRequested(self.monotonic()))
        limit = self.monotonic() + spec.start.cap
        shut_since: float | None = None
        while actor.pending or actor.state.phase is not Phase.READY:
            state, now = actor.state, self.monotonic()
            if state.phase is Phase.STOPPED and not actor.pending:
                raise ScratchError(f"somebody stopped it: {state.reason.text}", reason=state.reason.code)
            if state.phase is Phase.FAILED and not actor.pending:
                raise ScratchError(f"it did not become ready: {state.reason.text}", reason=state.reason.code)
            waits = state.phase is Phase.BLOCKED and state.reason.code not in OPENING
            shut_since = (shut_since or now) if waits else None
            if shut_since is not None and now - shut_since > PATIENCE:
                raise ScratchError(f"it could not be started: {state.reason.text}", reason=state.reason.code)
            if now > limit:
                raise ScratchError(f"it was not ready after {spec.start.cap:g} s", reason="timeout")
            await _change(actor)
        life = self.life(name)
        if life is None:
            raise ScratchError("it died as soon as it was ready", reason="gone")
        return life

    async def _end(self, worker: str, name: str) -> None:
        """Also when cancelled: but a daemon that ends leaves it to the next one, which finds it unasked for."""
        try:
            if name in self.supervisor().actors:
                await self.supervisor().remove(name)
        finally:
            self.overrides.experiments.pop(name, None)
            self.forget(name)
            self.sink.emit("scratch_ended", worker, scratch=name)
        await asyncio.to_thread(self._sweep, {*self.supervisor().actors})

    def _sweep(self, living: Collection[str]) -> None:
        """Remove what is left of this one, and of those that an earlier daemon had: no name comes twice. Blocks."""
        places = (self.paths.state_dir / "workers", self.paths.runtime_dir / "tmp", self.paths.runtime_dir / "shims")
        for path in (path for place in places for path in place.glob(f"{SCRATCH}*")):
            if path.name.partition(".")[0] in living:
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                with contextlib.suppress(OSError):
                    path.unlink()


async def _change(actor: Actor) -> None:
    """Until its state changes; not for long, since not all that is waited for is a change."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_LOOK):
            await actor.change()


def twin(spec: WorkerSpec, worker: str, pin: str) -> WorkerSpec:
    """The same engine, nobody's address, no second try, and nothing that waits for others."""
    return spec.model_copy(
        update={
            "pin": pin,
            "listen": None,
            "front": FrontSpec(enabled=False),
            "engine_port": None,
            "served_model_name": spec.served_model_name or worker,
            "after": (),
            "requires": (),
            "autostart": False,
            "restart": RestartSpec(budget=0),
            "probes": spec.probes.model_copy(update={"correctness": ()}),
        }
    )
