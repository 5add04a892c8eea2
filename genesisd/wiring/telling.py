"""What ``genesisctl why`` says, from what the daemon knows."""

from __future__ import annotations

from genesisd.clock import Clock
from genesisd.control.correctness_views import WhyView
from genesisd.incidents.model import Incident
from genesisd.supervisor.model import WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.correctness import Correctness


def told_why(
    worker: str, state: WorkerState, spec: WorkerSpec, incident: Incident | None, correctness: Correctness, clock: Clock
) -> WhyView:
    """One paragraph."""
    return WhyView(worker, f"{worker} is {state.phase}: {state.reason.text}", incident.id if incident else None)
