"""What a worker does when a person, a reload or a dependency asks something of it. Pure.

An operator's stop is final: it clears ``wanted``, and nothing but a start sets that again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from genesisd.supervisor import moves
from genesisd.supervisor.model import (
    DependencyLost,
    Next,
    Phase,
    Policy,
    Reason,
    ResetRequested,
    RestartRequested,
    StartRequested,
    StopRequested,
    WorkerState,
)
from genesisd.supervisor.moves import Decision

REQUESTED = Reason("requested", "asked to start")


def start(state: WorkerState, event: StartRequested, policy: Policy) -> Decision:
    """Down or given up: start afresh. Going down: come back afterwards. Up: nothing to do."""
    wanted = replace(state, wanted=True)
    match state.phase:
        case Phase.STOPPED | Phase.FAILED:
            return moves.begin(replace(wanted, restarts=()), event.at, policy, REQUESTED)
        case Phase.BACKOFF:
            return moves.begin(wanted, event.at, policy, REQUESTED)
        case Phase.BLOCKED:
            return moves.stay(wanted) if state.checking else moves.look_again(wanted, event.at, policy)
        case Phase.DRAINING | Phase.STOPPING:
            coming_back = state.next in {Next.START, Next.RETRY}
            return moves.stay(wanted) if coming_back else _redirect(wanted, Next.START, REQUESTED)
        case Phase.STARTING | Phase.WARMING | Phase.READY | Phase.DEGRADED:
            return moves.stay(wanted)
        case _:
            assert_never(state.phase)


def stop(state: WorkerState, event: StopRequested, policy: Policy) -> Decision:
    """Go down and stay down."""
    reason = Reason("shutdown" if event.keep_wanted else "operator", event.text)
    state = replace(state, wanted=state.wanted and event.keep_wanted)
    match state.phase:
        case Phase.STOPPED:
            return moves.stay(state if event.keep_wanted else replace(state, reason=reason))
        case Phase.FAILED:
            return moves.stay(state) if event.keep_wanted else moves.rest(state, event.at, reason)
        case Phase.BLOCKED | Phase.BACKOFF:
            return moves.rest(state, event.at, reason)
        case Phase.STARTING if state.checking:
            return moves.rest(state, event.at, reason)
        case Phase.STARTING | Phase.WARMING:
            return moves.stop(state, event.at, policy, Next.DOWN, reason)
        case Phase.READY | Phase.DEGRADED:
            leave = moves.drain if event.drain else moves.stop
            return leave(state, event.at, policy, Next.DOWN, reason)
        case Phase.DRAINING if not event.drain:
            return moves.stop(state, event.at, policy, Next.DOWN, reason)
        case Phase.DRAINING | Phase.STOPPING:
            return _redirect(state, Next.DOWN, reason)
        case _:
            assert_never(state.phase)


def restart(state: WorkerState, event: RestartRequested, policy: Policy) -> Decision:
    """A new incarnation, at no cost to the restart budget."""
    reason = Reason("requested", event.text)
    state = replace(state, wanted=True)
    match state.phase:
        case Phase.STOPPED | Phase.FAILED:
            return moves.begin(replace(state, restarts=()), event.at, policy, reason)
        case Phase.BLOCKED | Phase.BACKOFF:
            return moves.begin(state, event.at, policy, reason)
        case Phase.STARTING if state.checking:
            return moves.stay(state)
        case Phase.STARTING | Phase.WARMING:
            return moves.stop(state, event.at, policy, Next.START, reason)
        case Phase.READY | Phase.DEGRADED:
            leave = moves.drain if event.drain else moves.stop
            return leave(state, event.at, policy, Next.START, reason)
        case Phase.DRAINING if not event.drain:
            return moves.stop(state, event.at, policy, Next.START, reason)
        case Phase.DRAINING | Phase.STOPPING:
            return _redirect(state, Next.START, reason)
        case _:
            assert_never(state.phase)


def reset(state: WorkerState, event: ResetRequested, policy: Policy) -> Decision:
    """Forget the failures; what waits or gave up tries again if it is wanted."""
    state = replace(state, restarts=())
    match state.phase:
        case Phase.FAILED | Phase.BACKOFF if state.wanted:
            return moves.begin(state, event.at, policy, Reason("requested", "reset by the operator"))
        case Phase.FAILED:
            return moves.rest(state, event.at, Reason("operator", "reset by the operator"))
        case (
            Phase.STOPPED
            | Phase.BLOCKED
            | Phase.STARTING
            | Phase.WARMING
            | Phase.READY
            | Phase.DEGRADED
            | Phase.DRAINING
            | Phase.STOPPING
            | Phase.BACKOFF
        ):
            return moves.stay(state)
        case _:
            assert_never(state.phase)


def dependency_lost(state: WorkerState, event: DependencyLost, policy: Policy) -> Decision:
    """Something it requires went down for good: go down, and come back when the gate opens."""
    match state.phase:
        case Phase.READY | Phase.DEGRADED:
            return moves.drain(state, event.at, policy, Next.START, event.reason)
        case Phase.WARMING:
            return moves.stop(state, event.at, policy, Next.START, event.reason)
        case Phase.STARTING if not state.checking:
            return moves.stop(state, event.at, policy, Next.START, event.reason)
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


def _redirect(state: WorkerState, then: Next, reason: Reason) -> Decision:
    """A stop is under way: change what it is for, and keep its deadline."""
    return replace(state, next=then, reason=reason), (moves.front(then, reason),)
