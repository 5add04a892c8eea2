"""The machine words of reasons: journals, metrics and scripts read them, so that none may change unseen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.supervisor.model import (
    Adopted,
    DeadlinePassed,
    DependencyLost,
    Exited,
    GateOpened,
    GateShut,
    LivenessFailed,
    Phase,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    ResetRequested,
    RestartRequested,
    ShimLost,
    SpawnFailed,
    StartRequested,
    StopRequested,
    Swept,
    Vanished,
)
from tests.unit.supervisor.transcript import CRASH, POLICY, Life, in_phase, ready, starting, warming

WHY = Reason("test", "because")
NO_BUDGET = replace(POLICY, budget=0)


def unwanted() -> Life:
    life = in_phase(Phase.FAILED)
    life.state = replace(life.state, wanted=False)
    return life


def stuck() -> Life:
    return ready().when(LivenessFailed(1, 1, WHY), DeadlinePassed(10), DeadlinePassed(20))


@pytest.mark.parametrize(
    ("code", "life"),
    [
        ("new", Life),
        ("requested", lambda: Life().when(StartRequested(1))),
        ("requested", lambda: in_phase(Phase.FAILED).when(StartRequested(1))),
        ("requested", lambda: in_phase(Phase.BACKOFF).when(StartRequested(1))),
        ("requested", lambda: ready().when(StopRequested(1), StartRequested(2))),
        ("requested", lambda: ready().when(RestartRequested(1))),
        ("requested", lambda: Life().when(RestartRequested(1))),
        ("requested", lambda: in_phase(Phase.FAILED).when(ResetRequested(1))),
        ("operator", lambda: unwanted().when(ResetRequested(1))),
        ("operator", lambda: Life().when(StopRequested(1))),
        ("operator", lambda: Life().when(StartRequested(0), StopRequested(1))),
        ("operator", lambda: starting().when(StopRequested(1))),
        ("operator", lambda: ready().when(StopRequested(1))),
        ("operator", lambda: in_phase(Phase.FAILED).when(StopRequested(1))),
        ("operator", lambda: in_phase(Phase.BACKOFF).when(StopRequested(1))),
        ("operator", lambda: in_phase(Phase.STOPPING).when(StopRequested(1))),
        ("shutdown", lambda: ready().when(StopRequested(1, keep_wanted=True))),
        ("shutdown", lambda: in_phase(Phase.BACKOFF).when(StopRequested(1, keep_wanted=True))),
        ("test", lambda: Life().when(StartRequested(0), GateShut(1, WHY))),
        ("gate-silent", lambda: Life().when(StartRequested(0), DeadlinePassed(30))),
        ("starting", lambda: Life().when(StartRequested(0), GateOpened(1))),
        ("test", lambda: Life().when(StartRequested(0), GateOpened(1), SpawnFailed(1, 1, WHY))),
        ("test", lambda: Life().when(StartRequested(0), GateOpened(1), SpawnFailed(1, 1, WHY, permanent=True))),
        ("start-timeout", lambda: starting().when(DeadlinePassed(30))),
        ("warming", warming),
        ("startup-wedged", lambda: warming().when(DeadlinePassed(30))),
        ("ready", ready),
        ("test", lambda: ready().when(ReadinessFailed(1, 1, WHY))),
        ("ready", lambda: ready().when(ReadinessFailed(1, 1, WHY), ReadinessPassed(2, 1))),
        ("test", lambda: ready().when(LivenessFailed(1, 1, WHY))),
        ("test", lambda: ready().when(DependencyLost(1, WHY))),
        ("test", lambda: warming().when(DependencyLost(1, WHY))),
        ("test", lambda: starting().when(DependencyLost(1, WHY))),
        ("killed", lambda: ready().when(Exited(1, 1, CRASH))),
        ("killed", lambda: ready().when(Exited(1, 1, CRASH), Swept(1, 1))),
        ("killed", lambda: ready().when(Vanished(1, CRASH))),
        ("killed", lambda: in_phase(Phase.BACKOFF)),
        ("unknown", lambda: ready().when(Swept(1, 1))),
        ("budget-spent", lambda: Life(policy=NO_BUDGET).when(StartRequested(0), GateOpened(1), SpawnFailed(1, 1, WHY))),
        ("bad-config", lambda: in_phase(Phase.FAILED)),
        ("unkillable", stuck),
        ("unkillable", lambda: ready().when(Swept(1, 1, survivors=1))),
        ("was-unkillable", lambda: stuck().when(Swept(30, 1))),
        ("shim-lost", lambda: ready().when(ShimLost(1, 1))),
        ("shim-lost", lambda: warming().when(ShimLost(1, 1))),
        ("shim-lost", lambda: ready().when(ShimLost(1, 1), DeadlinePassed(1))),
        ("unexpected", lambda: Life().when(StopRequested(0), Adopted(1, 1))),
    ],
)  # fmt: skip
def test_the_word_for_where_a_worker_is(code, life):
    """Each way into a phase is named, and by the same word for ever."""
    assert life().state.reason.code == code


def test_what_people_said_is_passed_on():
    """The journal quotes whoever asked."""
    assert ready().when(StopRequested(1, text="for the night")).state.reason.text == "for the night"
    assert ready().when(RestartRequested(1, text="new flags")).state.reason.text == "new flags"
    assert ready().when(ShimLost(1, 1), RestartRequested(2, text="new flags")).state.reason.text == "new flags"


def test_an_end_that_was_asked_for_keeps_its_reason():
    """How the leader ended is in the exit record; why it ended is what somebody asked."""
    life = ready().when(StopRequested(1, text="for the night"), Exited(2, 1, CRASH))
    assert (life.state.reason.text, life.state.last_exit) == ("for the night", CRASH)
    life.when(Swept(3, 1))
    assert (life.phase, life.state.reason.text) == (Phase.STOPPED, "for the night")


def test_what_a_death_left_behind_is_named_by_its_record():
    """Text and cause of the exit record, word for word."""
    assert ready().when(Exited(1, 1, CRASH)).state.reason == Reason("killed", "killed by signal 9")
    assert ready().when(Vanished(1, CRASH)).state.reason == Reason("killed", "killed by signal 9")
