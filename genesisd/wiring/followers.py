"""Who hears of the turns of a worker's life, and in which order."""

from __future__ import annotations

from collections.abc import Callable

from genesisd.supervisor.model import Phase, WorkerState
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.attester import Attestations
from genesisd.wiring.correctness import Correctness
from genesisd.wiring.fingerprints import Fingerprints
from genesisd.wiring.patched import Patched
from genesisd.wiring.shared_memory import SharedMemoryNotes


class Followers:
    """Those who keep something about each life. Other workers, which may wait for this one, come last."""

    def __init__(
        self,
        fingerprints: Fingerprints,
        patched: Patched,
        attestations: Attestations,
        notes: SharedMemoryNotes,
        correctness: Correctness,
        supervisor: Callable[[], Supervisor],
    ) -> None:
        self._fingerprints = fingerprints
        self._patched = patched
        self._attestations = attestations
        self._notes = notes
        self._correctness = correctness
        self._supervisor = supervisor

    def born(self, worker: str, incarnation: int) -> None:
        """It was spawned."""
        self._fingerprints.spawned(worker)
        self._patched.spawned(worker, incarnation)
        self._attestations.begin(worker, incarnation)

    def found(self, worker: str, incarnation: int) -> None:
        """It was adopted."""
        self._patched.adopted(worker, incarnation)
        self._attestations.adopted(worker, incarnation)

    def changed(self, worker: str, state: WorkerState) -> None:
        """Its state is another one."""
        self._notes.follow(worker, state)
        if state.phase is Phase.READY:
            self._patched.ready(worker, state.incarnation)
        self._correctness.follow(worker, state)
        self._supervisor().follow(worker, state)
