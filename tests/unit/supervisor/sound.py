"""What holds after every single decision, whatever the event was."""

from __future__ import annotations

import re

from genesisd.supervisor.model import CloseFront, Effect, Event, Next, Phase, Reason, WorkerState

UP = {Phase.BLOCKED, Phase.STARTING, Phase.WARMING, Phase.READY, Phase.DEGRADED, Phase.BACKOFF}
LEAVING = {Phase.DRAINING, Phase.STOPPING}
TIMELESS = {Phase.STOPPED, Phase.READY, Phase.FAILED}
RETURNING = {Next.START, Next.RETRY}
CODE = re.compile(r"[a-z]+(-[a-z]+)*")


def sound(before: WorkerState, event: Event, after: WorkerState, orders: tuple[Effect, ...]) -> None:
    """Raise AssertionError where a decision is not one that could be right."""
    assert type(after.next) is Next
    assert all(type(flag) is bool for flag in (after.wanted, after.checking, after.killed, after.shim_lost))
    well_put(after.reason)
    assert after.since == event.at or (after.since == before.since and after.phase is before.phase)
    assert not after.checking or after.phase in {Phase.BLOCKED, Phase.STARTING}
    assert not after.killed or after.phase is Phase.STOPPING
    if after.phase in UP or (after.phase in LEAVING and after.next in RETURNING):
        assert after.wanted, "it comes up or back though nobody wants it"
    if after.phase is not Phase.DEGRADED:
        assert (after.deadline is None) is (after.phase in TIMELESS), "a wait without an end, or an end of no wait"
    for order in orders:
        assert getattr(order, "incarnation", after.incarnation) == after.incarnation
        assert type(getattr(order, "proven", False)) is bool
        well_put(getattr(order, "reason", after.reason))
        assert not isinstance(order, CloseFront) or order.reason == after.reason


def well_put(reason: Reason) -> None:
    """A word for programs and a text for people."""
    assert isinstance(reason, Reason)
    assert CODE.fullmatch(reason.code)
    assert isinstance(reason.text, str)


def front_fits(state: WorkerState, front: Effect | None) -> bool:
    """Whether the newest order to the front is the one that the state asks for."""
    held, closed, opened = "HoldFront", "CloseFront", "OpenFront"
    match state.phase:
        case Phase.STOPPED | Phase.FAILED:
            expected = {closed}
        case Phase.READY:
            expected = {opened}
        case Phase.DEGRADED:
            expected = {held, opened} if state.shim_lost else {held}
        case Phase.DRAINING | Phase.STOPPING:
            expected = {held} if state.next in RETURNING else {closed}
        case _:
            expected = {held}
    return front is None or type(front).__name__ in expected
