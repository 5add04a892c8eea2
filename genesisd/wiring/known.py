"""Which cases of the general casebook a worker has answered right: only those count against it later.

A question may be beyond a model, and a restart does not teach it. What was right once and is wrong now is a fault.
"""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.probes.casebook import Casebook
from genesisd.probes.ports import KnownRight, Vouched
from genesisd.store.meta import Meta
from genesisd.wiring.notes import Notes

KEY = "known-right/"


class KnownCases:
    """Answers from memory; what is new is written in the background."""

    def __init__(self, meta: Meta) -> None:
        self._notes = Notes(meta)
        self._right: dict[str, set[str]] = {}

    async def load(self, worker: str) -> None:
        """Remember what an earlier daemon saw."""
        kept = await self._notes.get(KEY + worker)
        if isinstance(kept, list):
            self._right[worker] = {str(one) for one in kept}

    def of(self, worker: str, casebook: Casebook) -> KnownRight:
        """For the probes of a life."""
        return Vouched() if casebook.vouched else _Seen(self, worker)

    def counts(self, worker: str, case: str) -> bool:
        """Whether it was right once."""
        return case in self._right.get(worker, ())

    def add(self, worker: str, case: str) -> None:
        """It is right."""
        known = self._right.setdefault(worker, set())
        if case not in known:
            known.add(case)
            self._notes.put(KEY + worker, sorted(known))

    def forget(self, worker: str) -> None:
        """It left the configuration, or serves another model."""
        if self._right.pop(worker, None) is not None:
            self._notes.put(KEY + worker, None)

    async def close(self) -> None:
        """Wait for what is being written."""
        await self._notes.close()


@dataclass(frozen=True, slots=True)
class _Seen:
    """Implements ``KnownRight`` for one worker."""

    cases: KnownCases
    worker: str

    def counts(self, kind: str, case: str) -> bool:
        return self.cases.counts(self.worker, f"{kind}/{case}")

    def right(self, kind: str, case: str) -> None:
        self.cases.add(self.worker, f"{kind}/{case}")
