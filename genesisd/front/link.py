"""The daemon's side of the fronts: starts or adopts one process a worker, and keeps it where it should point."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from genesisd.errors import NotFoundError, UnavailableError
from genesisd.front.decide import Closed, Held, Open, Target
from genesisd.front.keep import Keeper
from genesisd.front.start import Seat, Settings
from genesisd.front.wire import FrontStats, stats_of
from genesisd.units import Address

_AS_IT_IS = Settings("", 0, 0.0, 0)
"""Of a front that is only to be ended: never sent."""
Tell = Callable[..., None]
"""``tell(kind, worker, **fields)``: front-started, front-adopted, front-lost, front-failed."""


def _silent(_kind: str, _worker: str, /, **_fields: object) -> None:
    return


def _named(folder: Path) -> set[str]:
    locks = {path.name for path in folder.glob("front-*.sock.lock")}
    return {name.removeprefix("front-").removesuffix(".sock.lock") for name in locks}


class Fronts:
    """All fronts of a daemon. Its end (``detach``) leaves them serving."""

    def __init__(self, folder: Path, tell: Tell = _silent) -> None:
        """``folder`` holds sockets, locks and logs, and must outlive the daemon (a RuntimeDirectory does)."""
        self._folder = folder
        self._tell = tell
        self._keepers: dict[str, Keeper] = {}
        self._ensuring = asyncio.Lock()

    async def ensure(self, worker: str, listen: Address, hold: float, max_held: int) -> None:
        """Have a front that listens there with these limits: adopt, start or reconfigure.

        Raises:
            RefusedError: with code ``listen`` when the address is taken; a front that ran before goes on as it was.
            UnavailableError: it could not be started.
        """
        settings = Settings(listen.host, listen.port, hold, max_held)
        async with self._ensuring:
            keeper = self._keepers.get(worker)
            if keeper is not None:
                await keeper.configure(settings)
                return
            keeper = Keeper(Seat(worker, self._folder), settings, self._tell)
            await keeper.begin()
            self._keepers[worker] = keeper

    async def open(self, worker: str, host: str, port: int, incarnation: int) -> None:
        """New requests go to this incarnation. A front that is being replaced is told when it is back."""
        await self._point(worker, Open(host, port, incarnation))

    async def hold(self, worker: str) -> None:
        """New requests wait for a bounded time."""
        await self._point(worker, Held())

    async def close(self, worker: str, text: str) -> None:
        """New requests are refused at once with this text."""
        await self._point(worker, Closed(text))

    async def stats(self, worker: str) -> FrontStats | None:
        """The counts; None: there is no front, or it did not answer."""
        answer = await self._ask_stats(worker)
        return stats_of(answer) if answer is not None else None

    async def in_flight(self, worker: str, incarnation: int) -> int | None:
        """Requests in flight on this incarnation alone: old streams may still flow after a switch."""
        answer = await self._ask_stats(worker)
        return int(answer["by_incarnation"].get(str(incarnation), 0)) if answer is not None else None

    def pid(self, worker: str) -> int | None:
        """The front's process, or None while there is none."""
        keeper = self._keepers.get(worker)
        return keeper.pid if keeper is not None else None

    def target(self, worker: str) -> Target | None:
        """Where the front points: what was ordered, else what an adopted front said."""
        keeper = self._keepers.get(worker)
        return keeper.target if keeper is not None else None

    def left(self) -> set[str]:
        """The workers whose fronts an earlier daemon left here and nobody asked for yet."""
        return {name for name in _named(self._folder) if name not in self._keepers}

    async def take(self, worker: str) -> bool:
        """Reach the front that an earlier daemon left for a worker that wants none any more; whether there is one."""
        async with self._ensuring:
            seat = Seat(worker, self._folder)
            if worker not in self._keepers and seat.lock.exists():
                keeper = Keeper(seat, _AS_IT_IS, self._tell)
                await keeper.reach()
                self._keepers[worker] = keeper
        return worker in self._keepers

    async def release(self, worker: str, drain: float = 0.0) -> None:
        """It shall have no front: end the one it has, also one that an earlier daemon left, and remove its files."""
        await self.take(worker)
        keeper = self._keepers.pop(worker, None)
        if keeper is not None:
            await keeper.end(drain)

    async def shutdown(self, drain: float = 0.0) -> None:
        """End all fronts; exchanges in progress get ``drain`` seconds."""
        await asyncio.gather(*(self.release(worker, drain) for worker in list(self._keepers)))

    async def detach(self) -> None:
        """Let go; the fronts go on, for the next daemon to adopt."""
        keepers = list(self._keepers.values())
        self._keepers.clear()
        await asyncio.gather(*(keeper.detach() for keeper in keepers))

    async def _point(self, worker: str, target: Target) -> None:
        keeper = self._keepers.get(worker)
        if keeper is None:
            raise NotFoundError(f"worker {worker!r} has no front", worker=worker)
        await keeper.point(target)

    async def _ask_stats(self, worker: str) -> dict[str, Any] | None:
        keeper = self._keepers.get(worker)
        if keeper is not None:
            with contextlib.suppress(UnavailableError):
                return await keeper.ask({"op": "stats"})
        return None
