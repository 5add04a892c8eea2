"""From changes of state to events and gauges."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.errors import UnavailableError
from genesisd.supervisor.model import ExitRecord, Phase, Reason, WorkerState
from genesisd.supervisor.spec import WorkerSpec
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.observer import StateTeller
from tests.fakes.supervision import FakeClock, FakeSink

CRASH = ExitRecord(None, 9, "killed", "killed by signal 9")
WARMING = WorkerState(phase=Phase.WARMING, wanted=True, incarnation=4, since=12.0, started=10.0)


class Told:
    def __init__(self):
        self.sink = FakeSink()
        self.metrics = Metrics(FakeClock())
        self.metrics.configure({"w": WorkerSpec(command=("vllm",))})
        self.followed, self.born, self.found = [], [], []
        self.teller = StateTeller(self.sink, self.metrics, lambda *a: self.followed.append(a), self._born, self._found)

    def _born(self, *life):
        self.born.append(life)

    def _found(self, *life):
        self.found.append(life)

    def change(self, before, **fields):
        after = replace(before, **fields)
        self.teller.changed("w", before, after)
        return after


@pytest.fixture
def told():
    return Told()


def test_a_change_of_phase_is_told_once_with_its_reason(told):
    """From where to where, and why."""
    told.change(WorkerState(), phase=Phase.STARTING, incarnation=1, reason=Reason("starting", "waiting"))
    assert told.sink.events == [
        (
            "worker_phase",
            "w",
            {
                "previous": "stopped",
                "phase": "starting",
                "incarnation": 1,
                "reason_code": "starting",
                "reason": "waiting",
            },
        )
    ]


def test_a_change_that_is_none_of_a_phase_is_silent(told):
    """A deadline that moves is nobody's news."""
    told.change(WARMING, deadline=99.0)
    assert told.sink.events == []


def test_ready_says_how_long_the_start_took(told):
    """From the spawn on, in seconds."""
    told.change(WARMING, phase=Phase.READY, since=17.5)
    assert told.sink.kinds == ["worker_phase", "worker_ready"]
    assert told.sink.of("worker_ready") == [{"incarnation": 4, "seconds": 7.5}]


def test_a_recovery_is_no_start(told):
    """Degraded and ready again: nobody started."""
    told.change(replace(WARMING, phase=Phase.DEGRADED), phase=Phase.READY)
    assert told.sink.kinds == ["worker_phase"]


def test_an_exit_is_told_once(told):
    """With the change that brings it, not with those that carry it on."""
    after = told.change(WARMING, phase=Phase.STOPPING, last_exit=CRASH)
    told.change(after, phase=Phase.BACKOFF)
    assert told.sink.kinds.count("worker_exited") == 1
    facts = {"incarnation": 4, "code": None, "signal": 9, "cause": "killed", "text": "killed by signal 9"}
    assert told.sink.of("worker_exited") == [facts]


def test_two_equal_exits_in_a_row_are_two(told):
    """The same crash again is a second one."""
    after = told.change(WARMING, last_exit=CRASH)
    told.change(after, last_exit=replace(CRASH))
    assert told.sink.kinds.count("worker_exited") == 2


def test_a_restart_counts_when_the_budget_is_spent_on_it(told):
    """Not when it is reset or carried on."""
    after = told.change(WARMING, phase=Phase.BACKOFF, restarts=(5.0,), reason=Reason("killed", "killed"))
    after = told.change(after, phase=Phase.STARTING)
    told.change(after, restarts=())
    assert told.sink.of("worker_restart") == [{"incarnation": 4, "cause": "killed"}]


def test_a_shut_gate_is_told_when_its_reason_changes(told):
    """Once a second it is looked at; once it is told."""
    blocked = told.change(WorkerState(), phase=Phase.BLOCKED, reason=Reason("tree", "a"))
    same = told.change(blocked, checking=True)
    told.change(same, checking=False, reason=Reason("vram-held", "b"))
    assert [facts["code"] for facts in told.sink.of("gate_shut")] == ["tree", "vram-held"]


def test_a_lost_shim_is_told_once(told):
    """With the incarnation that lost it."""
    after = told.change(WARMING, shim_lost=True)
    told.change(after, phase=Phase.DEGRADED)
    assert told.sink.of("shim_lost") == [{"incarnation": 4}]


def test_whoever_follows_hears_of_every_change_after_all_was_told(told):
    """Dependents are moved by a change that journal and metrics know already."""
    after = told.change(WorkerState(), phase=Phase.STARTING)
    assert told.followed == [("w", after)]


def test_births_and_adoptions(told):
    """A birth is noted before it is told."""
    told.teller.spawned("w", 4, 77)
    told.teller.adopted("w", 4, 77)
    assert (told.born, told.found) == ([("w", 4)], [("w", 4)])
    assert told.sink.kinds == ["worker_spawned", "worker_adopted"]


@pytest.mark.parametrize(
    ("error", "text", "hint"),
    [(UnavailableError("no front", hint="wait"), "no front", "wait"), (TimeoutError(), "TimeoutError", None)],
)
def test_trouble_has_a_text_in_any_case(told, error, text, hint):
    """An error without words is told by its name."""
    told.teller.trouble("w", "HoldFront", error)
    assert told.sink.events == [("effect_failed", "w", {"effect": "HoldFront", "text": text, "hint": hint})]


def test_a_worker_that_metrics_do_not_know_any_more_is_no_fault(told):
    """It is leaving the configuration and still has changes to tell."""
    told.metrics.configure({})
    told.change(WARMING, phase=Phase.READY)
    assert "worker_phase" in told.sink.kinds
