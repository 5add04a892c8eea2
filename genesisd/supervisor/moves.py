"""How a worker enters a phase: the new state and the orders that go with it. Pure.

``decide`` chooses a move; a move never looks at the event. Each move sets the one deadline that its phase needs,
so that no phase can wait for ever for an answer that was lost.
"""

from __future__ import annotations

from dataclasses import replace

from genesisd.supervisor import restart
from genesisd.supervisor.model import (
    BeginProbes,
    CheckGates,
    CloseFront,
    Effect,
    EndProbes,
    ExitRecord,
    HoldFront,
    Kill,
    Next,
    OpenFront,
    Phase,
    Policy,
    Reason,
    SaveEvidence,
    Spawn,
    Terminate,
    WaitDrained,
    WorkerState,
)

Decision = tuple[WorkerState, tuple[Effect, ...]]

LOST_EXIT = ExitRecord(None, None, "unknown", "its process tree is gone and nobody recorded how it ended")


def stay(state: WorkerState) -> Decision:
    """Nothing to do: the event is stale or means nothing here."""
    return state, ()


def enter(state: WorkerState, phase: Phase, at: float, reason: Reason, deadline: float | None = None) -> WorkerState:
    """The bookkeeping that every change of phase shares: what belonged to one stop or one check ends with it."""
    since = state.since if phase is state.phase else at
    return replace(state, phase=phase, since=since, reason=reason, deadline=deadline, checking=False, killed=False)


def begin(state: WorkerState, at: float, policy: Policy, reason: Reason) -> Decision:
    """Wanted up and nothing lives: ask the gates."""
    state = enter(state, Phase.STARTING, at, reason, at + policy.start_deadline)
    return replace(state, checking=True, shim_lost=False, started=None), (HoldFront(), CheckGates())


def block(state: WorkerState, at: float, policy: Policy, reason: Reason) -> Decision:
    """A gate is shut: look again in a while."""
    return enter(state, Phase.BLOCKED, at, reason, at + policy.gate_retry), ()


def look_again(state: WorkerState, at: float, policy: Policy) -> Decision:
    """Blocked, and the pause is over."""
    return replace(state, checking=True, deadline=at + policy.start_deadline), (CheckGates(),)


def spawn(state: WorkerState, at: float, policy: Policy) -> Decision:
    """The gates are open: a new incarnation."""
    reason = Reason("starting", "waiting for it to answer")
    state = enter(state, Phase.STARTING, at, reason, at + min(policy.start_deadline, policy.start_cap))
    state = replace(state, incarnation=state.incarnation + 1, started=at)
    return state, (Spawn(state.incarnation),)


def extend(state: WorkerState, at: float, policy: Policy) -> WorkerState:
    """Progress moves the start deadline, up to the hard cap."""
    cap = (at if state.started is None else state.started) + policy.start_cap
    return replace(state, deadline=min(at + policy.start_deadline, cap))


def ready(state: WorkerState, at: float) -> Decision:
    """A whole generation is proven: traffic may come."""
    state = enter(state, Phase.READY, at, Reason("ready", "serving"))
    return state, (OpenFront(state.incarnation),)


def drain(state: WorkerState, at: float, policy: Policy, then: Next, reason: Reason) -> Decision:
    """Stop new work and wait for the old."""
    if policy.drain <= 0:
        return stop(state, at, policy, then, reason)
    state = replace(enter(state, Phase.DRAINING, at, reason, at + policy.drain), next=then)
    return state, (EndProbes(state.incarnation), front(then, reason), WaitDrained(state.incarnation))


def stop(state: WorkerState, at: float, policy: Policy, then: Next, reason: Reason) -> Decision:
    """End the process: SIGTERM, and the deadline orders SIGKILL."""
    state = replace(enter(state, Phase.STOPPING, at, reason, at + policy.grace), next=then)
    return state, (EndProbes(state.incarnation), front(then, reason), Terminate(state.incarnation))


def stop_with_evidence(state: WorkerState, at: float, policy: Policy, reason: Reason) -> Decision:
    """It is at fault: keep what shows it, then stop and try again."""
    state, effects = stop(state, at, policy, Next.RETRY, reason)
    return state, (SaveEvidence(state.incarnation, reason), *effects)


def sweep(
    state: WorkerState, at: float, policy: Policy, then: Next, record: ExitRecord, reason: Reason | None = None
) -> Decision:
    """The leader is dead and its shim sweeps the tree; the deadline orders a kill of our own.

    The reason is the death itself, unless the end was asked for.
    """
    reason = reason or Reason(record.cause, record.text)
    state = replace(enter(state, Phase.STOPPING, at, reason, at + policy.kill_wait), next=then, last_exit=record)
    return state, (EndProbes(state.incarnation), front(then, reason))


def kill(state: WorkerState, at: float, policy: Policy) -> Decision:
    """SIGTERM was not enough."""
    return replace(state, killed=True, deadline=at + policy.kill_wait), (Kill(state.incarnation),)


def finish(state: WorkerState, at: float, policy: Policy) -> Decision:
    """Nothing of the tree is left: do what the stop was for."""
    if state.next is Next.START:
        return begin(state, at, policy, state.reason)
    if state.next is Next.RETRY:
        return retry(state, at, policy, state.reason)
    if state.next is Next.FAIL:
        return fail(state, at, state.reason)
    return rest(state, at, state.reason)


def retry(state: WorkerState, at: float, policy: Policy, reason: Reason) -> Decision:
    """An unrequested death: spend the budget, wait if told to, or give up."""
    admission = restart.admit(state.restarts, at, policy)
    if admission is None:
        text = f"gave up after {policy.budget} restarts in {policy.window:g} s; the last: {reason.text}"
        return fail(state, at, Reason("budget-spent", text))
    state = replace(state, restarts=admission.restarts)
    if admission.delay <= 0:
        return begin(state, at, policy, reason)
    state = enter(state, Phase.BACKOFF, at, reason, at + admission.delay)
    return state, (HoldFront(),)


def fail(state: WorkerState, at: float, reason: Reason) -> Decision:
    """Give up until a person says otherwise."""
    return enter(state, Phase.FAILED, at, reason), (CloseFront(reason),)


def rest(state: WorkerState, at: float, reason: Reason) -> Decision:
    """Down, as asked."""
    return enter(state, Phase.STOPPED, at, reason), (CloseFront(reason),)


def unkillable(state: WorkerState, at: float) -> Decision:
    """SIGKILL did not end it: never spawn beside it."""
    text = "some of its processes cannot be killed (stuck in the kernel); the card may need a reset or the box a reboot"
    return fail(state, at, Reason("unkillable", text))


def resume(state: WorkerState, at: float, policy: Policy) -> Decision:
    """A new daemon adopted the living incarnation: pick up what its phase was doing."""
    number = state.incarnation
    match state.phase:
        case Phase.STARTING | Phase.WARMING:
            state = extend(enter(state, Phase.STARTING, at, state.reason), at, policy)
            return state, (HoldFront(), BeginProbes(number))
        case Phase.READY:
            return state, (OpenFront(number), BeginProbes(number, proven=True))
        case Phase.DEGRADED:
            return state, (HoldFront(), BeginProbes(number, proven=True))
        case Phase.DRAINING:
            return state, (front(state.next, state.reason), WaitDrained(number))
        case Phase.STOPPING:
            order = Kill(number) if state.killed else Terminate(number)
            return state, (front(state.next, state.reason), order)
        case Phase.STOPPED | Phase.BLOCKED | Phase.BACKOFF | Phase.FAILED:
            then = Next.START if state.wanted else Next.DOWN
            return stop(state, at, policy, then, Reason("unexpected", "a process lived that should not; ending it"))


def front(then: Next, reason: Reason) -> Effect:
    """What the public address does meanwhile: wait for the next life, or refuse."""
    return HoldFront() if then in {Next.START, Next.RETRY} else CloseFront(reason)
