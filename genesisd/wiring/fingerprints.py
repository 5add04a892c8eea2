"""What each living worker was started with, so that a change made while no daemon ran is noticed by the next one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping

from genesisd.config.diff import LAUNCH, roles
from genesisd.store.meta import Meta
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.notes import Notes

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
        self._notes = Notes(meta)
        self._specs = specs

    def spawned(self, worker: str) -> None:
        """A new incarnation runs with the present spec."""
        self._notes.put(KEY + worker, fingerprint(self._specs()[worker]))

    async def changed(self, worker: str) -> bool:
        """Whether the present spec would start it otherwise. False where nothing is known."""
        kept = await self._notes.get(KEY + worker)
        return kept is not None and kept != fingerprint(self._specs()[worker])

    async def close(self) -> None:
        """Wait for what is being written."""
        await self._notes.close()
