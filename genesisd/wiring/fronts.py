"""The supervisor's ``Front`` and ``InFlight`` by real front processes."""

from __future__ import annotations

import dataclasses

from genesisd.front.link import Fronts
from genesisd.supervisor.ports import FrontStats
from genesisd.supervisor.spec import WorkerSpec


def wants_front(spec: WorkerSpec) -> bool:
    """A worker without a public address needs no front."""
    return spec.front.enabled and spec.listen is not None


class FrontAdapter:
    """Implements ``Front``; orders for a worker without a front mean nothing.

    Remembers the newest counts, since status and metrics must answer from memory.
    """

    def __init__(self, fronts: Fronts) -> None:
        self._fronts = fronts
        self._seated: set[str] = set()
        self.latest: dict[str, FrontStats | None] = {}

    async def seat(self, worker: str, spec: WorkerSpec) -> None:
        """Have a front exactly where the spec wants one. Raises GenesisError when its address is taken."""
        if not wants_front(spec) or spec.listen is None:
            await self.unseat(worker)
            return
        await self._fronts.ensure(worker, spec.listen, spec.front.hold, spec.front.max_held)
        self._seated.add(worker)

    async def take(self, worker: str) -> None:
        """Have the front that an earlier daemon left, if there is one: it is told to hold or close until its end."""
        if await self._fronts.take(worker):
            self._seated.add(worker)

    async def unseat(self, worker: str) -> None:
        """End the worker's front, if it has one; also one from before the configuration stopped asking for it."""
        self._seated.discard(worker)
        self.latest.pop(worker, None)
        await self._fronts.release(worker)

    def left(self) -> set[str]:
        """Workers whose fronts an earlier daemon left, and that have not been seated."""
        return self._fronts.left()

    async def open(self, worker: str, host: str, port: int, incarnation: int) -> None:
        """New requests go to this incarnation."""
        if worker in self._seated:
            await self._fronts.open(worker, host, port, incarnation)

    async def hold(self, worker: str) -> None:
        """New requests wait for a bounded time."""
        if worker in self._seated:
            await self._fronts.hold(worker)

    async def close(self, worker: str, text: str) -> None:
        """New requests are refused at once."""
        if worker in self._seated:
            await self._fronts.close(worker, text)

    async def stats(self, worker: str) -> FrontStats | None:
        """What the front counted; None where there is none or it is silent."""
        if worker not in self._seated:
            return None
        counted = await self._fronts.stats(worker)
        if worker not in self._seated:  # it left meanwhile: nobody would ever forget this answer
            return None
        fields = {field.name for field in dataclasses.fields(FrontStats)}
        self.latest[worker] = (
            None
            if counted is None
            else FrontStats(**{name: getattr(counted, name) for name in fields if hasattr(counted, name)})
        )
        return self.latest[worker]

    async def in_flight(self, worker: str, incarnation: int) -> int | None:
        """Requests that one incarnation has still to answer, by the front's count."""
        return await self._fronts.in_flight(worker, incarnation) if worker in self._seated else None

    async def refresh(self) -> None:
        """Ask every front once."""
        for worker in tuple(self._seated):
            await self.stats(worker)
