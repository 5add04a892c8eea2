"""What each living worker was started with, so that a change made while no daemon ran is noticed by the next one."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping

from genesisd.config.diff import LAUNCH, roles
from genesisd.store.meta import Meta, StoreReadError
from genesisd.supervisor.spec import WorkerSpec

KEY = "launch/"


def fingerprint(spec: WorkerSpec) -> str:
    """A hash over the fields that need a new incarnation when they change."""
    content = spec.model_dump(mode="json")
    launch: dict[str, object] = {name: _field(content, name) for name in sorted(LAUNCH)}
    launch["roles"] = roles(spec)
    return hashlib.sha256(json.dumps(launch, sort_keys=True).encode()).hexdigest()


def _field(content: Mapping[str, object], name: str) -> object:
    value: object = content
    for part in name.split("."):
        value = value[part] if isinstance(value, dict) else None
    return value


class Fingerprints:
    """Kept in the store; a store that does not answer costs this notice and nothing else."""

    def __init__(self, meta: Meta, specs: Callable[[], Mapping[str, WorkerSpec]]) -> None:
        self._meta = meta
        self._specs = specs
        self._writes: set[asyncio.Task[None]] = set()

    def spawned(self, worker: str) -> None:
        """A new incarnation runs with the present spec."""
        task = asyncio.create_task(self._keep(worker, fingerprint(self._specs()[worker])))
        self._writes.add(task)
        task.add_done_callback(self._writes.discard)

    async def changed(self, worker: str) -> bool:
        """Whether the present spec would start it otherwise. False where nothing is known."""
        try:
            kept = await self._meta.get(KEY + worker)
        except StoreReadError:
            return False
        return kept is not None and kept != fingerprint(self._specs()[worker])

    async def _keep(self, worker: str, text: str) -> None:
        try:
            await self._meta.set(KEY + worker, text)
        except StoreReadError:
            return

    async def close(self) -> None:
        """Wait for what is being written."""
        await asyncio.gather(*self._writes, return_exceptions=True)
