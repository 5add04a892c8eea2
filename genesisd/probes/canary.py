"""One token asked for in the background, to see whether an engine that shows nothing can still answer."""

from __future__ import annotations

import asyncio
import json

import aiohttp

from genesisd.probes.completion import model_name
from genesisd.probes.http_client import blame, read
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target
from genesisd.probes.progress import Canary


class CanaryCage:
    """Holds at most one canary. ``sent_at`` is the clock time when the newest was sent."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session
        self._task: asyncio.Task[Canary] | None = None
        self._model: str | None = None
        self.sent_at = 0.0

    def standing(self) -> Canary:
        """How the newest canary stands."""
        if self._task is None:
            return Canary.NONE
        if not self._task.done():
            return Canary.WAITING
        return Canary.UNREACHABLE if self._task.cancelled() else self._task.result()

    async def send(self, target: Target, now: float) -> None:
        """A new canary; an older one that still waits is withdrawn."""
        await self.close()
        self.sent_at = now
        self._task = asyncio.create_task(self._fly(target), name=f"canary {target.worker}")

    async def close(self) -> None:
        """Withdraw the canary: its connection is closed, so the engine drops the request."""
        if self._task is None:
            return
        self._task.cancel()
        await asyncio.wait([self._task])
        self._task = None

    async def _fly(self, target: Target) -> Canary:
        try:
            self._model = self._model or await model_name(self._session, target)
            body = {"model": self._model, "prompt": "Hi", "max_tokens": 1, "temperature": 0}
            url = f"{target.base_url}/v1/completions"
            async with self._session.post(url, json=body, headers=target.headers) as answer:
                raw = await read(answer, 1 << 16)
                whole = answer.status == 200 and bool(json.loads(raw).get("choices"))
                return Canary.ANSWERED if whole else Canary.REFUSED
        except (aiohttp.ClientError, OSError) as error:
            ours = blame(error, target.base_url).verdict is Verdict.UNKNOWN
            return Canary.NONE if ours else Canary.UNREACHABLE
        except (ValueError, AttributeError):
            return Canary.REFUSED
