"""Which worker waits for which: start order, reverse stop, and what a lost dependency takes with it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import TopologicalSorter

from genesisd.supervisor.model import Phase, Reason, WorkerState
from genesisd.supervisor.spec import WorkerSpec

GONE = frozenset({Phase.STOPPED, Phase.FAILED})


def before(spec: WorkerSpec) -> tuple[str, ...]:
    """The workers that come up before this one and go down after it."""
    return tuple(dict.fromkeys((*spec.after, *spec.requires)))


def waits_for(spec: WorkerSpec, states: Mapping[str, WorkerState]) -> Reason | None:
    """What stands against a start, or None."""
    for name in before(spec):
        state = states.get(name)
        if state is None or state.phase is Phase.READY:
            continue
        if name in spec.requires or state.wanted:
            return Reason("dependency", f"waits for {name}, which is {state.phase}")
    return None


def dependents(name: str, specs: Mapping[str, WorkerSpec]) -> list[str]:
    """The workers that cannot be without ``name``."""
    return [other for other, spec in specs.items() if name in spec.requires]


def stop_waves(specs: Mapping[str, WorkerSpec]) -> list[list[str]]:
    """Workers in the order of a shutdown: each wave may go down together, once the one before it is down."""
    sorter: TopologicalSorter[str] = TopologicalSorter(
        {name: [other for other in specs if name in before(specs[other])] for name in specs}
    )
    sorter.prepare()
    waves: list[list[str]] = []
    while sorter.is_active():
        wave = sorted(sorter.get_ready())
        waves.append(wave)
        sorter.done(*wave)
    return waves
