"""The one function that decides what a worker does next. Pure and total over phase x event.

Events happened; effects are orders, carried out by the actor after the new state is on disk. Time comes in with
the event. A report about an older incarnation is harmless: it is dropped here, in one place.
"""

from __future__ import annotations

from typing import assert_never

from genesisd.supervisor import moves, on_report, on_request
from genesisd.supervisor.model import (
    Adopted,
    Condemned,
    DeadlinePassed,
    DependencyLost,
    Drained,
    Event,
    Exited,
    GateOpened,
    GateShut,
    LivenessFailed,
    Next,
    Phase,
    Policy,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    ResetRequested,
    RestartRequested,
    ShimLost,
    Spawned,
    SpawnFailed,
    StartRequested,
    StartupPassed,
    StopRequested,
    Swept,
    Vanished,
    WorkerState,
)
from genesisd.supervisor.moves import Decision

_INCARNATED = (
    Spawned
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
)


def decide(state: WorkerState, event: Event, policy: Policy) -> Decision:  # noqa: C901 - a table, one row an event
    """The new state and the orders that follow from ``event``."""
    if isinstance(event, _INCARNATED) and event.incarnation != state.incarnation:
        return moves.stay(state)
    match event:
        case StartRequested():
            return on_request.start(state, event, policy)
        case StopRequested():
            return on_request.stop(state, event, policy)
        case RestartRequested():
            return on_request.restart(state, event, policy)
        case ResetRequested():
            return on_request.reset(state, event, policy)
        case DependencyLost():
            return on_request.dependency_lost(state, event, policy)
        case GateOpened():
            return on_report.gate_opened(state, event, policy)
        case GateShut():
            return on_report.gate_shut(state, event, policy)
        case Spawned():
            return on_report.spawned(state, event, policy)
        case SpawnFailed():
            return on_report.spawn_failed(state, event, policy)
        case Progressed():
            return on_report.progressed(state, event, policy)
        case StartupPassed():
            return on_report.startup_passed(state, event, policy)
        case ReadinessPassed():
            return on_report.readiness_passed(state, event)
        case ReadinessFailed():
            return on_report.readiness_failed(state, event)
        case LivenessFailed():
            return on_report.liveness_failed(state, event, policy)
        case Condemned():
            return on_report.condemned(state, event, policy)
        case Drained():
            return on_report.drained(state, event, policy)
        case Exited():
            return on_report.exited(state, event, policy)
        case Swept():
            return on_report.swept(state, event, policy)
        case ShimLost():
            return on_report.shim_lost(state, event, policy)
        case Adopted():
            return on_report.adopted(state, event, policy)
        case Vanished():
            return on_report.vanished(state, event, policy)
        case DeadlinePassed():
            return _deadline(state, event.at, policy)
        case _:
            assert_never(event)


def _deadline(state: WorkerState, at: float, policy: Policy) -> Decision:
    """The phase's time is over. A wake-up that is too early means nothing."""
    if state.deadline is None or at < state.deadline:
        return moves.stay(state)
    match state.phase:
        case Phase.STARTING | Phase.BLOCKED if state.checking:
            silent = Reason("gate-silent", "the checks before a spawn did not answer; asking again")
            return moves.block(state, at, policy, silent)
        case Phase.BLOCKED:
            return moves.look_again(state, at, policy)
        case Phase.BACKOFF:
            return moves.begin(state, at, policy, state.reason)
        case Phase.STARTING | Phase.WARMING:
            return moves.stop_with_evidence(state, at, policy, _late(state))
        case Phase.DEGRADED:
            return moves.drain(state, at, policy, Next.RETRY, state.reason)
        case Phase.DRAINING:
            return moves.stop(state, at, policy, state.next, state.reason)
        case Phase.STOPPING:
            return moves.unkillable(state, at) if state.killed else moves.kill(state, at, policy)
        case Phase.STOPPED | Phase.READY | Phase.FAILED:
            return moves.stay(state)
        case _:
            assert_never(state.phase)


def _late(state: WorkerState) -> Reason:
    if state.phase is Phase.WARMING:
        return Reason("startup-wedged", "answers, but completed no generation before its start deadline")
    return Reason("start-timeout", "did not answer before its start deadline and shows no progress")
