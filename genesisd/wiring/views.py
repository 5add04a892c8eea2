"""What the control socket shows of a worker, from the actor's state and what others remember about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from genesisd.clock import Clock
from genesisd.control.views import BuildView, ProbeView, RestartsView, ViewMemo, WorkerView
from genesisd.supervisor import restart
from genesisd.supervisor.model import LIVE, Phase
from genesisd.supervisor.ports import Runner
from genesisd.supervisor.supervisor import Supervisor, policy_of
from genesisd.units import Address
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.gates import engine_address


@dataclass(frozen=True, slots=True)
class Sources:
    """Where views come from; all answer from memory."""

    supervisor: Supervisor
    runner: Runner
    fronts: FrontAdapter
    probes: Callable[[str], tuple[ProbeView, ...]]
    adopted: Callable[[str], bool]
    shim_pid: Callable[[str], int | None]
    build: Callable[[str, int], BuildView | None]
    clock: Clock


class Views:
    """Builds views, and hands out the same object while nothing changed."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._memo = ViewMemo()

    def worker(self, name: str) -> WorkerView:
        """One worker. Raises NotFoundError."""
        state = self._sources.supervisor.actor(name).state
        spec = self._sources.supervisor.specs[name]
        life = self._sources.runner.life(name)
        front = self._sources.fronts.latest.get(name)
        probes = self._sources.probes(name)
        shim = self._sources.shim_pid(name)
        build = self._sources.build(name, state.incarnation) if state.phase in LIVE else None
        inputs = (state, spec, life, front, probes, self._sources.adopted(name), self._counted(name), shim, build)
        return self._memo.view(name, inputs, lambda: self._build(name))

    def workers(self) -> tuple[WorkerView, ...]:
        """All of them, in the order of the configuration."""
        return tuple(self.worker(name) for name in self._sources.supervisor.specs)

    def forget(self, name: str) -> None:
        """It left the configuration."""
        self._memo.forget(name)

    def _counted(self, name: str) -> int:
        """Restarts inside the window: changes by the mere passing of time. Small ints are one object each."""
        actor = self._sources.supervisor.actor(name)
        if not actor.state.restarts:
            return 0
        now = self._sources.clock.monotonic()
        return len(restart.within(actor.state.restarts, now, actor.policy))

    def _build(self, name: str) -> WorkerView:
        sources = self._sources
        state, spec = sources.supervisor.actor(name).state, sources.supervisor.specs[name]
        life = sources.runner.life(name) if state.phase in LIVE else None
        policy = policy_of(spec)
        return WorkerView(
            name=name,
            phase=state.phase,
            wanted=state.wanted,
            incarnation=state.incarnation,
            reason=state.reason,
            since=state.since,
            since_wall=sources.clock.wall() - sources.clock.monotonic() + state.since,
            url=self._url(name),
            pin=spec.pin,
            pid=None if life is None else life.leader.pid,
            ready_since=state.since if state.phase is Phase.READY else None,
            restarts=RestartsView(self._counted(name), policy.budget, policy.window),
            front=sources.fronts.latest.get(name),
            probes=sources.probes(name),
            last_exit=state.last_exit,
            adopted=sources.adopted(name),
            shim_pid=sources.shim_pid(name),
            build=sources.build(name, state.incarnation) if life is not None else None,
        )

    def _url(self, name: str) -> str | None:
        spec = self._sources.supervisor.specs[name]
        if spec.listen is not None:
            return f"http://{spec.listen}"
        life = self._sources.runner.life(name)
        host, port = engine_address(spec)
        port = life.port if life is not None else port
        return None if port is None else f"http://{Address(host=host, port=port)}"
