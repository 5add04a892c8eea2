"""The asks of probes that failed lately, by worker: the transcript of a fault to come. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from genesisd.incidents.model import Recorded
from genesisd.incidents.redact import Redactor

KEPT = 12


class FailedAsks:
    """Remembers the newest failures of each kind, without secrets."""

    def __init__(self, redact: Redactor) -> None:
        self._redact = redact
        self._asks: dict[str, tuple[Recorded, ...]] = {}

    def add(self, worker: str, recorded: Sequence[Recorded]) -> tuple[Recorded, ...]:
        """Those of one ask: they take the place of older ones of their kind. Returns them masked."""
        kinds = {new.kind for new in recorded}
        masked = tuple(self._masked(one) for one in recorded)
        self._asks[worker] = (*(one for one in self.of(worker) if one.kind not in kinds), *masked)[-KEPT:]
        return masked

    def drop(self, worker: str, kind: str) -> None:
        """The kind succeeds again: its older failures show nothing of a later fault."""
        self._asks[worker] = tuple(one for one in self.of(worker) if one.kind != kind)

    def of(self, worker: str) -> tuple[Recorded, ...]:
        """All of one worker, oldest first."""
        return self._asks.get(worker, ())

    def _masked(self, one: Recorded) -> Recorded:
        """What a probe asked and was answered is its own words: only secrets are masked."""
        mask = self._redact.secrets
        return replace(one, summary=mask(one.summary), text=mask(one.text), request=self._redact.tree(one.request))
