"""Builds that were proven right, and workers that were taken back to one.

Proven is more than ready: a build that boots clean and answers garbage becomes ready too. So what counts is a life in
which every correctness probe was good for a while.
"""

from __future__ import annotations

from collections.abc import Mapping

from genesisd.store.meta import Meta
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.fingerprints import fingerprint
from genesisd.wiring.notes import Notes
from genesisd.wiring.starts import Start, from_json

PROVEN = "patches/proven/"
BACK = "patches/back/"


class Rollbacks:
    """Answers from memory; what changes is written in the background."""

    def __init__(self, meta: Meta) -> None:
        self._notes = Notes(meta)
        self._proven: dict[str, Start] = {}
        self._back: dict[str, tuple[Start, str]] = {}

    async def load(self, worker: str) -> None:
        """Remember what an earlier daemon knew."""
        proven = from_json(await self._notes.get(PROVEN + worker))
        if proven is not None:
            self._proven[worker] = proven
        kept = await self._notes.get(BACK + worker)
        back = from_json(kept.get("start")) if isinstance(kept, dict) else None
        if back is not None:
            self._back[worker] = back, str(kept.get("fingerprint"))

    def proven(self, worker: str) -> Start | None:
        """The start whose answers were right last."""
        return self._proven.get(worker)

    def prove(self, worker: str, start: Start) -> None:
        """Every probe was good for long enough with this one."""
        known = self._proven.get(worker)
        if known is None or (known.pin, known.build, known.model) != (start.pin, start.build, start.model):
            self._proven[worker] = start
            self._notes.put(PROVEN + worker, start.to_json())

    def target(self, worker: str, running: Start | None) -> Start | None:
        """Where the worker could be taken back to from what it runs; None where that is nothing else.

        What was right with another model proves nothing: its pin may not even know the present one.
        """
        good = self._proven.get(worker)
        if good is None or good.pin is None or running is None or good.model != running.model:
            return None
        return None if (good.pin, good.build) == (running.pin, running.build) else good

    def go_back(self, worker: str, start: Start, spec: WorkerSpec) -> None:
        """From the next spawn on it runs ``start``, until its configuration changes or a person says otherwise."""
        kept = fingerprint(spec)
        self._back[worker] = start, kept
        self._notes.put(BACK + worker, {"start": start.to_json(), "fingerprint": kept})

    def back(self, worker: str, spec: WorkerSpec) -> Start | None:
        """What it was taken back to, while its configuration is the one of then."""
        found = self._back.get(worker)
        return found[0] if found is not None and found[1] == fingerprint(spec) else None

    def applied(self, worker: str, spec: WorkerSpec) -> WorkerSpec:
        """The spec with the pin that the worker is started with now."""
        back = self.back(worker, spec) if worker in self._back else None
        return spec if back is None or back.pin == spec.pin else spec.model_copy(update={"pin": back.pin})

    def effective(self, specs: Mapping[str, WorkerSpec]) -> Mapping[str, WorkerSpec]:
        """All specs with the pins that workers are started with now; ``specs`` itself while nobody was taken back."""
        return {name: self.applied(name, spec) for name, spec in specs.items()} if self._back else specs

    def lift(self, worker: str) -> None:
        """Start what is configured again."""
        if self._back.pop(worker, None) is not None:
            self._notes.put(BACK + worker, None)

    def forget(self, worker: str) -> None:
        """It left the configuration."""
        self.lift(worker)
        if self._proven.pop(worker, None) is not None:
            self._notes.put(PROVEN + worker, None)

    async def close(self) -> None:
        """Wait for what is being written."""
        await self._notes.close()
