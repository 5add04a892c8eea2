"""Which cases of the general casebook a worker has answered right: only those count against it later.

A question may be beyond a model, and a restart does not teach it. What was right once and is wrong now is a fault, of
whatever runs the same model: what another model could answer says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.probes.casebook import Casebook
from genesisd.probes.casebooks import label
from genesisd.probes.ports import KnownRight, Vouched
from genesisd.store.meta import Meta
from genesisd.wiring.notes import Notes

KEY = "known-right/"


class KnownCases:
    """Answers from memory; what is new is written in the background."""

    def __init__(self, meta: Meta) -> None:
        self._notes = Notes(meta)
        self._right: dict[str, tuple[str, frozenset[str]]] = {}
        """By worker: of which model and questions, and the cases."""

    async def load(self, worker: str) -> None:
        """Remember what an earlier daemon saw."""
        kept = await self._notes.get(KEY + worker)
        if isinstance(kept, dict) and isinstance(kept.get("of"), str) and isinstance(kept.get("cases"), list):
            self._right[worker] = kept["of"], frozenset(str(one) for one in kept["cases"])

    def of(self, worker: str, casebook: Casebook, model: str) -> KnownRight:
        """For the probes of a life that serves ``model``."""
        return Vouched() if casebook.vouched else _Seen(self, worker, f"{model} {label(casebook)}")

    def of_twin(self, worker: str, casebook: Casebook, model: str) -> KnownRight:
        """For an experiment with a twin of the worker: what its original could answer counts, and nothing is learnt."""
        return Vouched() if casebook.vouched else _SeenOfTwin(self, worker, f"{model} {label(casebook)}")

    def counts(self, worker: str, of: str, case: str) -> bool:
        """Whether it was right once."""
        known, cases = self._right.get(worker, ("", frozenset()))
        return known == of and case in cases

    def add(self, worker: str, of: str, case: str) -> None:
        """It is right."""
        known, cases = self._right.get(worker, ("", frozenset()))
        new = (cases if known == of else frozenset()) | {case}
        if (known, cases) != (of, new):
            self._right[worker] = of, new
            self._notes.put(KEY + worker, {"of": of, "cases": sorted(new)})

    def forget(self, worker: str) -> None:
        """It left the configuration."""
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
    model: str

    def counts(self, kind: str, case: str) -> bool:
        return self.cases.counts(self.worker, self.model, f"{kind}/{case}")

    def right(self, kind: str, case: str) -> None:
        self.cases.add(self.worker, self.model, f"{kind}/{case}")


@dataclass(frozen=True, slots=True)
class _SeenOfTwin(_Seen):
    """The same, read only."""

    def right(self, kind: str, case: str) -> None:
        """As expected of the model: nothing new is known of the worker."""
