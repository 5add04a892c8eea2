"""How much a worker has still to answer: the front knows best, the engine's own /load where there is no front."""

from __future__ import annotations

import aiohttp

from genesisd.supervisor.ports import Runner
from genesisd.units import Address
from genesisd.wiring.fronts import FrontAdapter

LOAD_SECONDS = 2.0


class FrontOrLoad:
    """Implements ``InFlight``."""

    def __init__(self, fronts: FrontAdapter, runner: Runner, session: aiohttp.ClientSession) -> None:
        self._fronts = fronts
        self._runner = runner
        self._session = session

    async def count(self, worker: str, incarnation: int) -> int:
        """The larger of the two counts: requests may reach the engine beside the front."""
        behind_front = await self._fronts.in_flight(worker, incarnation) or 0
        return max(behind_front, await self._load(worker))

    async def _load(self, worker: str) -> int:
        life = self._runner.life(worker)
        if life is None:
            return 0
        url = f"http://{Address(host=life.host, port=life.port)}/load"
        try:
            timeout = aiohttp.ClientTimeout(total=LOAD_SECONDS)
            async with self._session.get(url, timeout=timeout) as answer:
                said = await answer.json(content_type=None) if answer.status == 200 else {}
        except (aiohttp.ClientError, TimeoutError, ValueError):
            return 0
        load = said.get("server_load") if isinstance(said, dict) else None
        return load if isinstance(load, int) else 0
