"""What counts beside the configuration when a worker is started: quarantine, rollback, and experiments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.quarantine import Quarantine
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.starts import Start


class Overrides(Protocol):
    """What counts beside the configuration."""

    def quarantined(self, worker: str, pin: str) -> Mapping[str, str]:
        """Ids that the worker is started without, with what was found."""
        ...

    def back(self, worker: str, spec: WorkerSpec) -> Start | None:
        """The start that the worker was taken back to."""
        ...

    def lenient(self, worker: str) -> bool:
        """Whether it may start without what the configuration cannot do without: an experiment serves nobody."""
        ...


class NoOverrides:
    """The configuration is all there is."""

    def quarantined(self, worker: str, pin: str) -> Mapping[str, str]:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return {}

    def back(self, worker: str, spec: WorkerSpec) -> Start | None:  # noqa: ARG002
        """Nowhere."""
        return None

    def lenient(self, worker: str) -> bool:  # noqa: ARG002
        """No."""
        return False


@dataclass(frozen=True, slots=True)
class Experiment:
    """How a scratch worker is started: without these patches, for this reason."""

    without: frozenset[str]
    text: str


class WorkerOverrides:
    """Implements ``Overrides``; ``experiments`` holds the scratch workers that are there now."""

    def __init__(self, quarantine: Quarantine, rollbacks: Rollbacks) -> None:
        self._quarantine = quarantine
        self._rollbacks = rollbacks
        self.experiments: dict[str, Experiment] = {}

    def quarantined(self, worker: str, pin: str) -> Mapping[str, str]:
        """What was found at fault, or what an experiment leaves out."""
        experiment = self.experiments.get(worker)
        if experiment is not None:
            return dict.fromkeys(experiment.without, experiment.text)
        return self._quarantine.patches(worker, pin)

    def back(self, worker: str, spec: WorkerSpec) -> Start | None:
        """The start that the worker was taken back to."""
        return None if worker in self.experiments else self._rollbacks.back(worker, spec)

    def lenient(self, worker: str) -> bool:
        """An experiment may lack anything."""
        return worker in self.experiments
