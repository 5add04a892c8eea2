"""What ``genesisctl why`` says, from what the daemon knows."""

from __future__ import annotations

from genesisd.clock import Clock
from genesisd.control.correctness_views import WhyView
from genesisd.incidents.facts import WorkerFacts
from genesisd.incidents.model import Incident
from genesisd.incidents.why import why
from genesisd.supervisor.model import WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.correctness import Correctness
from genesisd.wiring.quarantine import CARD, PATCH


def told_why(
    worker: str, state: WorkerState, spec: WorkerSpec, incident: Incident | None, correctness: Correctness, clock: Clock
) -> WhyView:
    """One paragraph, and the incident that it tells of."""
    now = clock.wall()
    text = why(facts(worker, state, spec, correctness, now - (clock.monotonic() - state.since)), incident, now)
    return WhyView(worker, text, incident.id if incident is not None else None)


def facts(worker: str, state: WorkerState, spec: WorkerSpec, correctness: Correctness, since: float) -> WorkerFacts:
    """The worker now; ``since`` is wall time."""
    held = correctness.quarantine.all()
    cards = {str(index) for index in spec.gpus}
    build = correctness.build(worker)
    return WorkerFacts(
        name=worker,
        phase=str(state.phase),
        code=state.reason.code,
        reason=state.reason.text,
        since=since,
        wanted=state.wanted,
        build=build,
        instead_of="what is configured" if correctness.is_back(worker) else None,
        patches=tuple(one.name for one in held if one.what == PATCH and one.worker == worker and one.pin == spec.pin),
        cards=tuple(one.name for one in held if one.what == CARD and one.name in cards),
    )
