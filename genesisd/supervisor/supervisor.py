"""The set of actors: brings them up from the store, keeps them true to the configuration, takes them down.

Adoption comes before anything else: a request that arrives while the daemon still looks for living workers would
act on a state that is not true yet.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from genesisd.errors import ConflictError, GenesisError, NotFoundError
from genesisd.supervisor import order
from genesisd.supervisor.actor import Actor, Ports
from genesisd.supervisor.model import (
    NEVER_STARTED,
    Adopted,
    DependencyLost,
    Event,
    ExitRecord,
    Next,
    Phase,
    Policy,
    Reason,
    RestartRequested,
    StartRequested,
    StopRequested,
    Vanished,
    WorkerState,
)
from genesisd.supervisor.spec import WorkerSpec

RETIRED = WorkerSpec(command=("false",), autostart=False)
"""Stands for the spec of a worker that the configuration does not know any more: only its times of a stop are used."""
LEFT = Reason("operator", "removed from the configuration")
DOWN = frozenset({Phase.STOPPED, Phase.FAILED})
STARTED = frozenset({Phase.WARMING, Phase.READY, Phase.DEGRADED})
"""Where the startup probes are behind a life."""
UNRECORDED = ExitRecord(None, None, "unknown", "it died while no daemon ran, and left no exit record")


def policy_of(spec: WorkerSpec) -> Policy:
    """The numbers of a spec that decisions need."""
    backoff = spec.restart.backoff
    return Policy(
        start_deadline=spec.start.deadline,
        start_cap=spec.start.cap,
        drain=spec.stop.drain,
        grace=spec.stop.grace,
        budget=spec.restart.budget,
        window=spec.restart.window,
        backoff_initial=backoff.initial,
        backoff_factor=backoff.factor,
        backoff_max=backoff.max,
    )


class Supervisor:
    """Owns the actors. One instance a daemon."""

    def __init__(self, ports: Callable[[Supervisor], Ports]) -> None:
        self.specs: dict[str, WorkerSpec] = {}
        self.actors: dict[str, Actor] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._adopted: dict[str, int] = {}
        self._leaving: set[str] = set()
        self._hurried = False
        self._ports = ports(self)

    @property
    def states(self) -> Mapping[str, WorkerState]:
        """What every worker is at."""
        return {name: actor.state for name, actor in self.actors.items()}

    def was_adopted(self, worker: str) -> bool:
        """Whether the present incarnation was started by an earlier daemon."""
        return self._adopted.get(worker) == self.actor(worker).state.incarnation

    def actor(self, worker: str) -> Actor:
        """The actor of a worker. Raises NotFoundError."""
        try:
            return self.actors[worker]
        except KeyError:
            known = ", ".join(sorted(self.actors)) or "none"
            raise NotFoundError(
                f"there is no worker {worker!r}", hint=f"configured workers: {known}", worker=worker
            ) from None

    def orderable(self, worker: str) -> Actor:
        """The actor of a worker that takes orders. Raises NotFoundError, and ConflictError for one that leaves."""
        if worker in self._leaving:
            raise ConflictError(
                f"worker {worker} is being removed from the configuration",
                hint="add it to the configuration again first",
                worker=worker,
            )
        return self.actor(worker)

    async def start(self, specs: Mapping[str, WorkerSpec], *, rebooted: bool) -> None:
        """Adopt what lives, mourn what does not, start what is wanted."""
        stored = self._ports.store.load()
        await asyncio.gather(
            *(self.add(name, spec, stored.get(name, WorkerState()), rebooted=rebooted) for name, spec in specs.items())
        )

    async def add(self, name: str, spec: WorkerSpec, state: WorkerState, *, rebooted: bool = False) -> None:
        """Bring one worker under supervision, from whatever is left of it."""
        actor = Actor(name, state, policy_of(spec), self._ports)
        now = self._ports.clock.monotonic()
        try:
            found = await self._ports.runner.adopt(name, actor.post)
        except (GenesisError, OSError) as error:
            # One worker that cannot be understood must not keep the daemon from looking after the others.
            self._ports.observer.trouble(name, "adopt", error)
            actor.state = replace(
                state, phase=Phase.FAILED, since=now, deadline=None, checking=False, reason=Reason("adopt", str(error))
            )
            self._seat(name, spec, actor)
            return
        now = self._ports.clock.monotonic()
        first: Event
        if found.life is not None:
            self._adopted[name] = found.life.incarnation
            self._ports.observer.adopted(name, found.life.incarnation, found.life.leader.pid)
            first = Adopted(now, found.life.incarnation, shim_lost=not found.shim_alive)
        else:
            spawned = found.incarnation >= state.incarnation
            record = (found.last_exit if spawned else None) or UNRECORDED
            first = Vanished(now, record, spawned=spawned, rebooted=rebooted)
            actor.state = replace(state, incarnation=max(state.incarnation, found.incarnation))
        self._seat(name, spec, actor)
        await actor.decide(first)
        if (state.wanted and state.phase is Phase.STOPPED) or (state.reason == NEVER_STARTED and spec.autostart):
            await actor.decide(StartRequested(now))

    def _seat(self, name: str, spec: WorkerSpec, actor: Actor) -> None:
        self.specs[name] = spec
        self.actors[name] = actor
        self._tasks[name] = asyncio.create_task(actor.run(), name=f"worker {name}")

    async def add_new(self, name: str, spec: WorkerSpec) -> None:
        """A worker that a reload brought. What the store still knows of an earlier one by that name is not it."""
        await self.add(name, spec, WorkerState())

    def reorder(self, names: Sequence[str]) -> None:
        """Keep the order of the configuration; workers that are leaving come last."""
        order_of = {name: index for index, name in enumerate(names)}
        self.specs = dict(sorted(self.specs.items(), key=lambda item: order_of.get(item[0], len(names))))

    def change(self, name: str, spec: WorkerSpec, *, restart: bool, text: str) -> None:
        """A new spec: live settings apply at once, launch settings by a restart of what is up."""
        before, self.specs[name] = self.specs[name], spec
        actor = self.actor(name)
        actor.policy = policy_of(spec)
        if spec.probes != before.probes:
            self._ports.prober.renew(name, proven=actor.state.phase in STARTED)
        if restart and actor.state.wanted:
            actor.post(RestartRequested(self._ports.clock.monotonic(), text=text))

    async def remove(self, name: str) -> None:
        """Stop a worker that is configured no more, and forget it. It takes no orders meanwhile."""
        actor = self.actor(name)
        self._leaving.add(name)
        try:
            actor.post(StopRequested(self._ports.clock.monotonic(), text=LEFT.text))
            await _settled(actor)
            await self._cancel([name])
            # Whatever cannot be let go of here (a tree stuck in the kernel): the name must become free again.
            await self._try(name, "release", self._ports.runner.release(name))
            await self._try(name, "forget", self._ports.store.forget(name))
            del self.actors[name], self.specs[name]
        finally:
            self._leaving.discard(name)

    async def retire(self, name: str) -> None:
        """As ``remove``, for what an earlier daemon left of a worker that this one's configuration does not know."""
        self._leaving.add(name)
        state = self._ports.store.load().get(name, WorkerState())
        deadline = self._ports.clock.monotonic() + RETIRED.stop.drain
        # Going down already, so that finding nothing of it does not look like a death that calls for a restart.
        state = replace(state, wanted=False, phase=Phase.DRAINING, next=Next.DOWN, deadline=deadline, reason=LEFT)
        await self.add(name, RETIRED, state)
        await self.remove(name)

    async def shutdown(self) -> None:
        """Stop every worker, dependents first; they are to run again when the daemon does."""
        for wave in order.stop_waves(self.specs):
            now = self._ports.clock.monotonic()
            actors = [self.actors[name] for name in wave if name in self.actors]
            for actor in actors:
                actor.post(StopRequested(now, text="the daemon shuts down", keep_wanted=True, drain=not self._hurried))
            await asyncio.gather(*(_settled(actor) for actor in actors))
        await asyncio.gather(*(self._try(name, "release", self._ports.runner.release(name)) for name in self.actors))

    def hurry(self) -> None:
        """Drain nobody any more: who drains is stopped at once, and so is who would have in a shutdown."""
        self._hurried = True
        now = self._ports.clock.monotonic()
        for actor in self.actors.values():
            if actor.state.phase is Phase.DRAINING:
                actor.post(StopRequested(now, text="told to end at once", keep_wanted=True, drain=False))

    async def detach(self) -> None:
        """Let go of every worker; they serve on until a new daemon adopts them."""
        await self._cancel(list(self._tasks))

    def follow(self, worker: str, after: WorkerState) -> None:
        """Called at each change: a worker that is gone for good takes its dependents along."""
        if after.phase not in order.GONE or (after.phase is Phase.STOPPED and after.wanted):
            return
        lost = DependencyLost(self._ports.clock.monotonic(), Reason("dependency", f"{worker} is {after.phase}"))
        for name in order.dependents(worker, self.specs):
            if name in self.actors:
                self.actors[name].post(lost)

    async def _try(self, worker: str, what: str, work: Awaitable[None]) -> None:
        try:
            await work
        except (GenesisError, OSError) as error:
            self._ports.observer.trouble(worker, what, error)

    async def _cancel(self, names: Iterable[str]) -> None:
        tasks = [self._tasks.pop(name) for name in names]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _settled(actor: Actor) -> None:
    """Until it is down. The request just posted may still wait in the mailbox, so one change is not enough."""
    while actor.pending or actor.state.phase not in DOWN:
        await actor.change()
