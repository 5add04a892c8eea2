"""What a worker does when its gates, its process or its probes report. Pure.

Reports about another incarnation than the newest never reach this module.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from genesisd.supervisor import moves
from genesisd.supervisor.model import (
    NEVER_STARTED,
    Adopted,
    BeginProbes,
    Condemned,
    Drained,
    Exited,
    GateOpened,
    GateShut,
    HoldFront,
    LivenessFailed,
    Next,
    Phase,
    Policy,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    SaveEvidence,
    ShimLost,
    Spawned,
    SpawnFailed,
    StartupPassed,
    Swept,
    Terminate,
    Vanished,
    WorkerState,
)
from genesisd.supervisor.moves import Decision

UP = frozenset({Phase.STARTING, Phase.WARMING, Phase.READY, Phase.DEGRADED})
LEAVING = frozenset({Phase.DRAINING, Phase.STOPPING})


def gate_opened(state: WorkerState, event: GateOpened, policy: Policy) -> Decision:
    """The answer that a spawn waited for."""
    return moves.spawn(state, event.at, policy) if state.checking else moves.stay(state)


def gate_shut(state: WorkerState, event: GateShut, policy: Policy) -> Decision:
    """Not now, and why."""
    return moves.block(state, event.at, policy, event.reason) if state.checking else moves.stay(state)


def spawned(state: WorkerState, event: Spawned, policy: Policy) -> Decision:
    """The process exists. If a stop overtook the spawn, its order went to nobody: give it again."""
    match state.phase:
        case Phase.STARTING if not state.checking:
            return moves.extend(replace(state, started=event.at), event.at, policy), (BeginProbes(event.incarnation),)
        case Phase.STOPPING:
            return state, (Terminate(event.incarnation),)
        case (
            Phase.STOPPED
            | Phase.BLOCKED
            | Phase.STARTING
            | Phase.WARMING
            | Phase.READY
            | Phase.DEGRADED
            | Phase.DRAINING
            | Phase.BACKOFF
            | Phase.FAILED
        ):
            return moves.stay(state)
        case _:
            assert_never(state.phase)


def spawn_failed(state: WorkerState, event: SpawnFailed, policy: Policy) -> Decision:
    """No process came to be."""
    if state.phase is Phase.STOPPING:
        return moves.finish(state, event.at, policy)
    if state.phase is not Phase.STARTING or state.checking:
        return moves.stay(state)
    if event.permanent:
        return moves.fail(state, event.at, event.reason)
    return moves.retry(state, event.at, policy, event.reason)


def progressed(state: WorkerState, event: Progressed, policy: Policy) -> Decision:
    """A slow start that moves is not a stuck start."""
    starting = state.phase in {Phase.STARTING, Phase.WARMING} and not state.checking
    return moves.stay(moves.extend(state, event.at, policy) if starting else state)


def startup_passed(state: WorkerState, event: StartupPassed, policy: Policy) -> Decision:
    """It answers; now it must prove itself."""
    if state.phase is not Phase.STARTING or state.checking:
        return moves.stay(state)
    reason = Reason("warming", "answers; a whole generation is not proven yet")
    return moves.stay(moves.extend(moves.enter(state, Phase.WARMING, event.at, reason), event.at, policy))


def readiness_passed(state: WorkerState, event: ReadinessPassed) -> Decision:
    """Proven. A worker that lost its shim stays on its way out."""
    recovers = state.phase is Phase.DEGRADED and not state.shim_lost
    return moves.ready(state, event.at) if recovers or state.phase is Phase.WARMING else moves.stay(state)


def readiness_failed(state: WorkerState, event: ReadinessFailed) -> Decision:
    """It lives but is not fit for traffic."""
    if state.phase is Phase.READY:
        return moves.enter(state, Phase.DEGRADED, event.at, event.reason), (HoldFront(),)
    if state.phase is Phase.DEGRADED and not state.shim_lost:
        return moves.stay(replace(state, reason=event.reason))
    return moves.stay(state)


def liveness_failed(state: WorkerState, event: LivenessFailed, policy: Policy) -> Decision:
    """It will not come back by itself."""
    at_fault = state.phase in UP and not state.checking
    return moves.stop_with_evidence(state, event.at, policy, event.reason) if at_fault else moves.stay(state)


def condemned(state: WorkerState, event: Condemned, policy: Policy) -> Decision:
    """What lives is ended, with evidence; what waits gives up. An end that is under way becomes the last one."""
    match state.phase:
        case Phase.WARMING | Phase.READY | Phase.DEGRADED:
            return _end_for_good(state, event, policy)
        case Phase.STARTING if not state.checking:
            return _end_for_good(state, event, policy)
        case Phase.STARTING | Phase.BLOCKED | Phase.BACKOFF:
            return moves.fail(state, event.at, event.reason)
        case Phase.DRAINING | Phase.STOPPING if state.next is Next.RETRY:
            return replace(state, next=Next.FAIL, reason=event.reason), (moves.front(Next.FAIL, event.reason),)
        case Phase.DRAINING | Phase.STOPPING | Phase.STOPPED | Phase.FAILED:
            return moves.stay(state)
        case _:
            assert_never(state.phase)


def _end_for_good(state: WorkerState, event: Condemned, policy: Policy) -> Decision:
    state, effects = moves.stop(state, event.at, policy, Next.FAIL, event.reason)
    return state, (SaveEvidence(state.incarnation, event.reason), *effects)


def drained(state: WorkerState, event: Drained, policy: Policy) -> Decision:
    """The last request is answered."""
    if state.phase is not Phase.DRAINING:
        return moves.stay(state)
    return moves.stop(state, event.at, policy, state.next, state.reason)


def exited(state: WorkerState, event: Exited, policy: Policy) -> Decision:
    """The leader is dead. An exit that nobody asked for is a crash, whatever its status says."""
    if state.phase in UP and not state.checking:
        hopeless = event.record.permanent and state.phase in {Phase.STARTING, Phase.WARMING}
        return moves.sweep(state, event.at, policy, Next.FAIL if hopeless else Next.RETRY, event.record)
    if state.phase is Phase.DRAINING:
        return moves.sweep(state, event.at, policy, state.next, event.record, state.reason)
    if state.phase is Phase.STOPPING:
        return moves.stay(replace(state, last_exit=event.record))
    return moves.stay(state)


def swept(state: WorkerState, event: Swept, policy: Policy) -> Decision:
    """The tree is gone, or what is left of it cannot be killed."""
    if state.phase in UP and not state.checking:
        state, _ = moves.sweep(state, event.at, policy, Next.RETRY, moves.LOST_EXIT)
    if state.phase in LEAVING:
        return moves.unkillable(state, event.at) if event.survivors else moves.finish(state, event.at, policy)
    if state.phase is Phase.FAILED and state.reason.code == "unkillable" and not event.survivors:
        text = "its stuck processes are gone at last; start it again"
        return moves.stay(replace(state, reason=Reason("was-unkillable", text)))
    return moves.stay(state)


def shim_lost(state: WorkerState, event: ShimLost, policy: Policy) -> Decision:
    """Nobody reads its log pipe any more: it serves on, degraded, and is replaced by drain and restart."""
    return _unwatched(state, event.at, policy)


def _unwatched(state: WorkerState, at: float, policy: Policy) -> Decision:
    state = replace(state, shim_lost=True)
    reason = Reason("shim-lost", "its shim died, so its log is lost; it is being replaced")
    match state.phase:
        case Phase.READY | Phase.DEGRADED:
            return moves.enter(state, Phase.DEGRADED, at, reason, deadline=at), ()
        case Phase.WARMING:
            return moves.stop(state, at, policy, Next.RETRY, reason)
        case Phase.STARTING if not state.checking:
            return moves.stop(state, at, policy, Next.RETRY, reason)
        case (
            Phase.STOPPED
            | Phase.BLOCKED
            | Phase.STARTING
            | Phase.DRAINING
            | Phase.STOPPING
            | Phase.BACKOFF
            | Phase.FAILED
        ):
            return moves.stay(state)
        case _:
            assert_never(state.phase)


def adopted(state: WorkerState, event: Adopted, policy: Policy) -> Decision:
    """A new daemon found it alive. A store that was lost knows less than the process: believe the process."""
    if state.reason == NEVER_STARTED:
        state = replace(state, phase=Phase.STARTING, since=event.at, wanted=True, started=event.at)
    state = replace(state, incarnation=event.incarnation)
    state, effects = moves.resume(state, event.at, policy)
    if not event.shim_lost or state.phase not in UP:
        return replace(state, shim_lost=event.shim_lost), effects
    state, more = _unwatched(state, event.at, policy)
    return state, (*effects, *more)


def vanished(state: WorkerState, event: Vanished, policy: Policy) -> Decision:
    """A new daemon found nothing alive."""
    match state.phase:
        case Phase.STOPPED | Phase.FAILED:
            return moves.stay(state)
        case Phase.DRAINING | Phase.STOPPING:
            return moves.finish(state, event.at, policy)
        case Phase.BLOCKED | Phase.BACKOFF:
            return moves.begin(state, event.at, policy, state.reason)
        case Phase.STARTING | Phase.WARMING | Phase.READY | Phase.DEGRADED:
            if state.checking or event.rebooted or not event.spawned:
                return moves.begin(state, event.at, policy, state.reason)
            state = replace(state, last_exit=event.record)
            return moves.retry(state, event.at, policy, Reason(event.record.cause, event.record.text))
        case _:
            assert_never(state.phase)
