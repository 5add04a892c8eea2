"""The gauges of what is kept back: brought up to date by the events that change it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.subscription import Told
from genesisd.wiring.bisection import Bisections
from genesisd.wiring.goldens import Goldens, subject_of
from genesisd.wiring.incidents import IncidentRecorder
from genesisd.wiring.patched import Patched
from genesisd.wiring.quarantine import CARD, PATCH, Quarantine
from genesisd.wiring.rollbacks import Rollbacks

_CHANGING = frozenset(
    {
        "patch_quarantined", "patch_released", "card_quarantined", "card_released", "judge_bisect", "bisection_ended",
        "worker_ready", "worker_adopted", "golden_recorded", "judge_rollback", "order",
    }
)  # fmt: skip


@dataclass(slots=True)
class Gauges:
    """A listener of the sink."""

    specs: Callable[[], Mapping[str, WorkerSpec]]
    quarantine: Quarantine
    rollbacks: Rollbacks
    bisections: Bisections
    goldens: Goldens
    recorder: IncidentRecorder
    patched: Patched
    incarnation: Callable[[str], int]
    metrics: Metrics

    def listen(self, told: Told) -> None:
        """Never blocks."""
        if told.kind in _CHANGING:
            self.refresh([told.worker] if told.worker is not None else ())

    def refresh(self, workers: Iterable[str]) -> None:
        """Say what is so now."""
        held = self.quarantine.all()
        self.metrics.cards_quarantined(sum(one.what == CARD for one in held))
        for worker in workers:
            spec = self.specs().get(worker)
            if spec is None:
                continue
            self.metrics.quarantined(worker, sum(one.what == PATCH and one.worker == worker for one in held))
            self.metrics.bisection(worker, running=self.bisections.busy(worker))
            self.metrics.rolled_back(worker, back=self.rollbacks.back(worker, spec) is not None)
            self.metrics.incident(worker, going_on=self.recorder.open_of(worker) is not None)
            self.metrics.golden(worker, self._recorded(worker, spec))

    def _recorded(self, worker: str, spec: WorkerSpec) -> float | None:
        subject = subject_of(worker, spec, self.patched.running(worker, self.incarnation(worker)))
        golden = None if subject is None else self.goldens.of(subject)
        return None if golden is None else golden.recorded
