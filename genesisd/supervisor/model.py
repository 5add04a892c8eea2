"""The words of supervision: phases, events that happened, effects that are ordered.

Plain frozen data. Every report about a process carries the incarnation it speaks of, so that a stale one is
harmless. ``at`` is CLOCK_MONOTONIC seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Phase(StrEnum):
    """Where a worker is in its life."""

    STOPPED = "stopped"
    BLOCKED = "blocked"
    """Wanted up, but a gate (dependency, pin, port, VRAM) is shut: the reason says which."""
    STARTING = "starting"
    """A spawn was ordered; the startup probes have not passed."""
    WARMING = "warming"
    """It answers; a whole generation is not proven yet."""
    READY = "ready"
    DEGRADED = "degraded"
    """It lives and may serve, but readiness failed or its shim is gone."""
    DRAINING = "draining"
    STOPPING = "stopping"
    BACKOFF = "backoff"
    FAILED = "failed"


LIVE = frozenset({Phase.STARTING, Phase.WARMING, Phase.READY, Phase.DEGRADED, Phase.DRAINING, Phase.STOPPING})
"""Phases in which a process tree may exist."""


class Next(StrEnum):
    """What a stop in progress is for."""

    DOWN = "down"
    START = "start"
    """Start again without spending the restart budget (an operator or a reload asked)."""
    RETRY = "retry"
    """Start again and spend the budget (a liveness failure or a missed deadline)."""
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a worker is where it is: a stable code for programs, one sentence for people."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class ExitRecord:
    """How an incarnation ended, as its shim wrote it.

    Attributes:
        code: exit status, or None when a signal ended it or it is not known.
        signal: number of the ending signal, or None.
        cause: class of the death (``crash``, ``bad-config``, ``port-taken``, ...), from ``classify``.
        text: one readable sentence.
        permanent: trying again cannot help until somebody changes something.
    """

    code: int | None
    signal: int | None
    cause: str = "crash"
    text: str = ""
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Policy:
    """The numbers of a spec that decisions need, in seconds."""

    start_deadline: float = 300.0
    start_cap: float = 3600.0
    drain: float = 30.0
    grace: float = 10.0
    kill_wait: float = 10.0
    """How long a SIGKILL may take before the tree counts as unkillable."""
    gate_retry: float = 1.0
    """Pause between two looks at a shut gate."""
    budget: int = 5
    window: float = 600.0
    backoff_initial: float = 1.0
    backoff_factor: float = 2.0
    backoff_max: float = 60.0


@dataclass(frozen=True, slots=True)
class WorkerState:
    """All that a decision depends on. ``deadline`` is the one timer a worker has."""

    phase: Phase = Phase.STOPPED
    wanted: bool = False
    incarnation: int = 0
    """The newest life that was ordered; 0 before the first."""
    since: float = 0.0
    deadline: float | None = None
    started: float | None = None
    """When the present start was ordered: the hard cap counts from here."""
    next: Next = Next.DOWN
    reason: Reason = Reason("new", "never started")
    restarts: tuple[float, ...] = ()
    """Times of the unrequested restarts inside the window."""
    exited: ExitRecord | None = None
    """Set between the leader's death and the end of the sweep."""
    killed: bool = False
    """SIGKILL was ordered for the present stop."""
    shim_lost: bool = False
    last_exit: ExitRecord | None = None


# --- events ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartRequested:
    at: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """An operator's word: final until a start is requested."""

    at: float
    drain: bool = True
    text: str = "stopped by the operator"


@dataclass(frozen=True, slots=True)
class RestartRequested:
    """Stop and start again without spending the budget."""

    at: float
    text: str = "restart requested by the operator"
    drain: bool = True


@dataclass(frozen=True, slots=True)
class ResetRequested:
    """Forget the failures: clears the budget and, if the worker is wanted, starts it."""

    at: float


@dataclass(frozen=True, slots=True)
class GateOpened:
    at: float


@dataclass(frozen=True, slots=True)
class GateShut:
    at: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class Spawned:
    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class SpawnFailed:
    at: float
    incarnation: int
    reason: Reason
    permanent: bool = False


@dataclass(frozen=True, slots=True)
class Progressed:
    """A starting worker did something that shows it is alive (log, CPU, memory)."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class StartupPassed:
    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class ReadinessPassed:
    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class ReadinessFailed:
    at: float
    incarnation: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class LivenessFailed:
    at: float
    incarnation: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Drained:
    """No request is in flight any more."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Exited:
    """The leader is dead; its tree is being swept."""

    at: float
    incarnation: int
    record: ExitRecord


@dataclass(frozen=True, slots=True)
class Swept:
    """Nothing of the incarnation's tree is left (``survivors`` is 0), or this many cannot be killed."""

    at: float
    incarnation: int
    survivors: int = 0


@dataclass(frozen=True, slots=True)
class ShimLost:
    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class Adopted:
    """A new daemon found the incarnation alive and its identity right."""

    at: float
    incarnation: int
    shim_lost: bool = False


@dataclass(frozen=True, slots=True)
class Vanished:
    """A new daemon found nothing of the incarnation that the store speaks of."""

    at: float
    incarnation: int
    record: ExitRecord


@dataclass(frozen=True, slots=True)
class DependencyLost:
    at: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    at: float


Event = (
    StartRequested | StopRequested | RestartRequested | ResetRequested | GateOpened | GateShut | Spawned | SpawnFailed
    | Progressed | StartupPassed | ReadinessPassed | ReadinessFailed | LivenessFailed | Drained | Exited | Swept
    | ShimLost | Adopted | Vanished | DependencyLost | DeadlinePassed
)

# --- effects --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckGates:
    """Look whether a spawn may happen now; answered by GateOpened or GateShut."""


@dataclass(frozen=True, slots=True)
class Spawn:
    incarnation: int


@dataclass(frozen=True, slots=True)
class Terminate:
    """SIGTERM to the leader."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class Kill:
    """SIGKILL to the whole tree; answered by Exited and Swept."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class BeginProbes:
    incarnation: int


@dataclass(frozen=True, slots=True)
class EndProbes:
    incarnation: int


@dataclass(frozen=True, slots=True)
class OpenFront:
    """New requests go to this incarnation."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class HoldFront:
    """New requests wait: a worker is expected back."""


@dataclass(frozen=True, slots=True)
class CloseFront:
    """New requests are refused at once: no worker is coming."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class WaitDrained:
    """Report Drained once nothing is in flight."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class SaveEvidence:
    """Keep what shows the fault before it is destroyed."""

    incarnation: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Tell:
    """Something that people and metrics should know; ``kind`` is from ``telemetry``'s list of events."""

    kind: str
    fields: tuple[tuple[str, object], ...] = field(default=())


Effect = (
    CheckGates | Spawn | Terminate | Kill | BeginProbes | EndProbes | OpenFront | HoldFront | CloseFront | WaitDrained
    | SaveEvidence | Tell
)
