"""The words of supervision: phases, events that happened, effects that are ordered.

Plain frozen data. Every report about a process carries the incarnation it speaks of, so that a stale one is
harmless. ``at`` is CLOCK_MONOTONIC seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
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


NEVER_STARTED = Reason("new", "never started")
"""Of a worker that the store knows nothing about."""


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
    checking: bool = False
    """STARTING or BLOCKED: an answer of the gates is awaited, and no process exists."""
    since: float = 0.0
    deadline: float | None = None
    started: float | None = None
    """When the present start was ordered: the hard cap counts from here."""
    next: Next = Next.DOWN
    reason: Reason = NEVER_STARTED
    restarts: tuple[float, ...] = ()
    """Times of the unrequested restarts inside the window."""
    killed: bool = False
    """SIGKILL was ordered for the present stop."""
    shim_lost: bool = False
    last_exit: ExitRecord | None = None


# --- events ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartRequested:
    """Somebody, or the daemon's own start, wants it up."""

    at: float


@dataclass(frozen=True, slots=True)
class StopRequested:
    """An operator's word: final until a start is requested."""

    at: float
    drain: bool = True
    text: str = "stopped by the operator"
    keep_wanted: bool = False
    """The daemon shuts down: the worker is to run again when the daemon does."""


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
    """Nothing stands against a spawn now."""

    at: float


@dataclass(frozen=True, slots=True)
class GateShut:
    """A spawn must wait, and why."""

    at: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class Spawned:
    """The process exists and its identity is on record."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class SpawnFailed:
    """No process came to be; ``permanent`` when trying again cannot help."""

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
    """Every startup probe passed."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class ReadinessPassed:
    """Every readiness probe is good."""

    at: float
    incarnation: int


@dataclass(frozen=True, slots=True)
class ReadinessFailed:
    """A readiness probe turned bad."""

    at: float
    incarnation: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class LivenessFailed:
    """A liveness probe turned bad: only a restart helps."""

    at: float
    incarnation: int
    reason: Reason


@dataclass(frozen=True, slots=True)
class Condemned:
    """No further start is to be tried until a person says so."""

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
    """The shim died; the tree lives on."""

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
    """A new daemon found no process of the worker.

    ``spawned`` is False where the ordered incarnation never came to be; ``rebooted`` where the whole machine
    started anew, which is nobody's crash.
    """

    at: float
    record: ExitRecord
    spawned: bool = True
    rebooted: bool = False


@dataclass(frozen=True, slots=True)
class DependencyLost:
    """A worker that this one requires went down for good."""

    at: float
    reason: Reason


@dataclass(frozen=True, slots=True)
class DeadlinePassed:
    """The phase's one timer rang."""

    at: float


Event = (
    StartRequested
    | StopRequested
    | RestartRequested
    | ResetRequested
    | GateOpened
    | GateShut
    | Spawned
    | SpawnFailed
    | Progressed
    | StartupPassed
    | ReadinessPassed
    | ReadinessFailed
    | LivenessFailed
    | Condemned
    | Drained
    | Exited
    | Swept
    | ShimLost
    | Adopted
    | Vanished
    | DependencyLost
    | DeadlinePassed
)

# --- effects --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckGates:
    """Look whether a spawn may happen now; answered by GateOpened or GateShut."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """Bring the incarnation to life; answered by Spawned or SpawnFailed."""

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
    """``proven``: this incarnation was ready before, so readiness starts good and startup is not asked."""

    incarnation: int
    proven: bool = False


@dataclass(frozen=True, slots=True)
class EndProbes:
    """Stop asking."""

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


Effect = (
    CheckGates
    | Spawn
    | Terminate
    | Kill
    | BeginProbes
    | EndProbes
    | OpenFront
    | HoldFront
    | CloseFront
    | WaitDrained
    | SaveEvidence
)
