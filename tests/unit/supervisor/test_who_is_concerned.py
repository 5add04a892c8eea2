"""Which phases a report concerns; in every other it changes nothing and orders nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.supervisor.model import (
    Condemned,
    DeadlinePassed,
    DependencyLost,
    Drained,
    Exited,
    ExitRecord,
    GateOpened,
    GateShut,
    LivenessFailed,
    Phase,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    ShimLost,
    Spawned,
    SpawnFailed,
    StartRequested,
    StartupPassed,
    Swept,
)
from genesisd.supervisor.transition import decide
from tests.unit.supervisor.transcript import CRASH, POLICY, Life, in_phase, ready

WHY = Reason("another", "word")
STOPPED, BLOCKED, STARTING, WARMING, READY = Phase.STOPPED, Phase.BLOCKED, Phase.STARTING, Phase.WARMING, Phase.READY
DEGRADED, DRAINING, STOPPING, BACKOFF = Phase.DEGRADED, Phase.DRAINING, Phase.STOPPING, Phase.BACKOFF
UP, LEAVING = {STARTING, WARMING, READY, DEGRADED}, {DRAINING, STOPPING}
CONCERNED = {
    GateOpened: set(),
    GateShut: set(),
    Spawned: {STARTING, STOPPING},
    SpawnFailed: {STARTING, STOPPING},
    Progressed: {STARTING, WARMING},
    StartupPassed: {STARTING},
    ReadinessPassed: {WARMING, DEGRADED},
    ReadinessFailed: {READY, DEGRADED},
    LivenessFailed: UP,
    Condemned: UP | {BLOCKED, BACKOFF, STOPPING},
    Drained: {DRAINING},
    Exited: UP | LEAVING,
    Swept: UP | LEAVING,
    DependencyLost: UP,
}
"""Of a worker whose gates are not being asked."""


def report(kind: type, number: int):
    at = 7.0
    if kind in {GateShut, DependencyLost}:
        return kind(at, WHY)
    if kind is GateOpened:
        return kind(at)
    if kind is Exited:
        return kind(at, number, ExitRecord(3, None, "another", "word"))
    return (
        kind(at, number, WHY) if kind in {SpawnFailed, ReadinessFailed, LivenessFailed, Condemned} else kind(at, number)
    )


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("kind", CONCERNED)
def test_a_report_reaches_the_phases_that_it_concerns_and_no_other(kind, phase):
    """The table is complete in both directions."""
    life = in_phase(phase)
    before = life.state
    life.when(report(kind, before.incarnation))
    assert ((life.state, life.orders) != (before, [])) is (phase in CONCERNED[kind])


@pytest.mark.parametrize("kind", [kind for kind in CONCERNED if kind not in {GateOpened, GateShut, Condemned}])
@pytest.mark.parametrize("asking", ["start", "blocked", "after-a-crash"])
def test_while_the_gates_are_asked_no_process_can_be_meant(kind, asking):
    """Reports of the life before carry its number until the next is ordered: they come late."""
    life = {
        "start": Life().when(StartRequested(0)),
        "blocked": Life().when(StartRequested(0), GateShut(0, WHY), DeadlinePassed(1)),
        "after-a-crash": ready().when(Exited(1, 1, CRASH), Swept(1, 1)),
    }[asking]
    assert life.state.checking
    before = life.state
    life.when(report(kind, before.incarnation))
    assert (life.state, life.orders) == (before, [])


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("kind", [*(k for k in CONCERNED if k not in {GateOpened, GateShut, DependencyLost}), ShimLost])
def test_a_report_about_another_life_concerns_nobody(kind, phase):
    """Neither one that is over nor one that was never ordered."""
    state = replace(in_phase(phase).state, incarnation=5)
    for number in (4, 6):
        assert decide(state, report(kind, number), POLICY) == (state, ())


@pytest.mark.parametrize("phase", Phase)
def test_a_lost_shim_is_noted_in_every_phase(phase):
    """Where nothing is up, that is all."""
    before = in_phase(phase).state
    after, orders = decide(before, ShimLost(7, before.incarnation), POLICY)
    assert after.shim_lost is True
    assert ((replace(after, shim_lost=False), orders) != (before, ())) is (phase in UP)


@pytest.mark.parametrize("phase", [STOPPED, READY, Phase.FAILED])
def test_a_deadline_where_nothing_is_waited_for_means_nothing(phase):
    """Even if the store brought one back."""
    life = in_phase(phase)
    state = replace(life.state, deadline=5.0)
    assert decide(state, DeadlinePassed(6), life.policy) == (state, ())
