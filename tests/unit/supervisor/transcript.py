"""Drive ``decide`` with events and read the orders: tests read as a transcript of a life."""

from __future__ import annotations

from genesisd.supervisor.model import (
    CloseFront,
    Effect,
    Event,
    ExitRecord,
    GateOpened,
    HoldFront,
    OpenFront,
    Phase,
    Policy,
    ReadinessPassed,
    Spawned,
    StartRequested,
    StartupPassed,
    WorkerState,
)
from genesisd.supervisor.transition import decide
from tests.unit.supervisor.sound import front_fits, sound

POLICY = Policy(
    start_deadline=30, start_cap=100, drain=10, grace=5, kill_wait=4, gate_retry=1, budget=3, window=600,
    backoff_initial=2, backoff_factor=3, backoff_max=10,
)  # fmt: skip
CRASH = ExitRecord(None, 9, "killed", "killed by signal 9")


class Life:
    """One worker's state and the orders of the last event."""

    def __init__(self, state: WorkerState | None = None, policy: Policy = POLICY) -> None:
        self.state = state or WorkerState()
        self.policy = policy
        self.orders: list[Effect] = []
        self.front: Effect | None = None

    def when(self, *events: Event) -> Life:
        """Each event happens; ``orders`` holds what the last one ordered."""
        for event in events:
            before = self.state
            self.state, effects = decide(before, event, self.policy)
            sound(before, event, self.state, effects)
            self.orders = list(effects)
            for order in effects:
                if isinstance(order, OpenFront | HoldFront | CloseFront):
                    self.front = order
            assert front_fits(self.state, self.front), f"{self.state} with {self.front}"
        return self

    @property
    def phase(self) -> Phase:
        return self.state.phase


def starting(at: float = 0.0) -> Life:
    return Life().when(StartRequested(at), GateOpened(at), Spawned(at, 1))


def warming(at: float = 0.0) -> Life:
    return starting(at).when(StartupPassed(at, 1))


def ready(at: float = 0.0) -> Life:
    return warming(at).when(ReadinessPassed(at, 1))


def in_phase(phase: Phase) -> Life:
    """A worker that came into ``phase`` by events alone."""
    from genesisd.supervisor.model import (
        Exited,
        GateShut,
        LivenessFailed,
        ReadinessFailed,
        Reason,
        StopRequested,
        Swept,
    )

    why = Reason("test", "because")
    match phase:
        case Phase.STOPPED:
            return Life()
        case Phase.BLOCKED:
            return Life().when(StartRequested(0), GateShut(0, why))
        case Phase.STARTING:
            return starting()
        case Phase.WARMING:
            return warming()
        case Phase.READY:
            return ready()
        case Phase.DEGRADED:
            return ready().when(ReadinessFailed(0, 1, why))
        case Phase.DRAINING:
            return ready().when(StopRequested(0))
        case Phase.STOPPING:
            return ready().when(LivenessFailed(0, 1, why))
        case Phase.BACKOFF:
            life = ready().when(Exited(0, 1, CRASH), Swept(0, 1), GateOpened(0), Spawned(0, 2))
            return life.when(Exited(0, 2, CRASH), Swept(0, 2))
        case Phase.FAILED:
            return starting().when(
                Exited(0, 1, ExitRecord(2, None, "bad-config", "bad flag", permanent=True)), Swept(0, 1)
            )
