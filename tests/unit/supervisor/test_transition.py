"""What a worker does next, told as transcripts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.supervisor.model import (
    Adopted,
    BeginProbes,
    CheckGates,
    CloseFront,
    Condemned,
    DeadlinePassed,
    DependencyLost,
    Drained,
    EndProbes,
    Exited,
    ExitRecord,
    GateOpened,
    GateShut,
    HoldFront,
    Kill,
    LivenessFailed,
    Next,
    OpenFront,
    Phase,
    Progressed,
    ReadinessFailed,
    ReadinessPassed,
    Reason,
    ResetRequested,
    RestartRequested,
    SaveEvidence,
    ShimLost,
    Spawn,
    Spawned,
    SpawnFailed,
    StartRequested,
    StartupPassed,
    StopRequested,
    Swept,
    Terminate,
    Vanished,
    WaitDrained,
    WorkerState,
)
from tests.unit.supervisor.transcript import CRASH, POLICY, Life, in_phase, ready, starting, warming

WHY = Reason("test", "because")
HOPELESS = ExitRecord(2, None, "bad-config", "unrecognized arguments: --no-such-flag", permanent=True)
EVENTS = [
    StartRequested(1), StopRequested(1), StopRequested(1, drain=False), StopRequested(1, keep_wanted=True),
    RestartRequested(1), RestartRequested(1, drain=False), ResetRequested(1), GateOpened(1), GateShut(1, WHY),
    Spawned(1, 1), SpawnFailed(1, 1, WHY), SpawnFailed(1, 1, WHY, permanent=True), Progressed(1, 1),
    StartupPassed(1, 1), ReadinessPassed(1, 1), ReadinessFailed(1, 1, WHY), LivenessFailed(1, 1, WHY), Condemned(1, 1, WHY),
    Drained(1, 1),
    Exited(1, 1, CRASH), Exited(1, 1, HOPELESS), Swept(1, 1), Swept(1, 1, survivors=2), ShimLost(1, 1), Adopted(1, 1),
    Adopted(1, 1, shim_lost=True), Adopted(1, 9), Vanished(1, CRASH), Vanished(1, CRASH, spawned=False),
    Vanished(1, CRASH, rebooted=True), DependencyLost(1, WHY), DeadlinePassed(1), DeadlinePassed(1e9),
]  # fmt: skip
TIMELESS = {Phase.STOPPED, Phase.READY, Phase.DEGRADED, Phase.FAILED}


@pytest.mark.parametrize("phase", Phase)
@pytest.mark.parametrize("event", EVENTS, ids=lambda event: repr(event)[:60])
def test_every_phase_answers_every_event(phase, event):
    """No cell of the table is empty, and no phase that waits for something waits without a deadline."""
    life = in_phase(phase)
    assert life.phase is phase
    life.when(event)
    assert isinstance(life.state, WorkerState)
    assert life.phase in TIMELESS or life.state.deadline is not None


# --- coming up ------------------------------------------------------------------------------------------------


def test_a_start_asks_the_gates_and_holds_the_front():
    """Nothing is spawned before the gates have spoken."""
    life = Life().when(StartRequested(5))
    assert (life.phase, life.state.wanted, life.state.checking) == (Phase.STARTING, True, True)
    assert life.orders == [HoldFront(), CheckGates()]
    assert life.state.deadline == 5 + 30


def test_open_gates_order_a_new_incarnation():
    """The number is taken before the process exists, so that it is on disk first."""
    life = Life().when(StartRequested(5), GateOpened(6))
    assert life.orders == [Spawn(1)]
    assert (life.state.incarnation, life.state.started, life.state.checking) == (1, 6, False)
    assert life.state.deadline == 6 + 30
    assert Life(policy=replace(POLICY, start_cap=20)).when(StartRequested(5), GateOpened(6)).state.deadline == 6 + 20


def test_a_start_counts_from_the_spawn():
    """A spawn may take its time: pages of a large environment are read from a cold disk."""
    life = Life().when(StartRequested(0), GateOpened(0), Spawned(8, 1))
    assert (life.state.started, life.state.deadline) == (8, 8 + 30)
    assert life.when(Progressed(37, 1), Progressed(66, 1), Progressed(95, 1)).state.deadline == 8 + 100


def test_a_shut_gate_blocks_with_its_reason_and_is_asked_again():
    """A foreign owner of the card is waited for, never killed."""
    life = Life().when(StartRequested(0), GateShut(1, WHY))
    assert (life.phase, life.state.reason, life.state.deadline) == (Phase.BLOCKED, WHY, 2)
    life.when(DeadlinePassed(2))
    assert (life.phase, life.orders, life.state.deadline) == (Phase.BLOCKED, [CheckGates()], 2 + 30)
    life.when(GateOpened(3))
    assert (life.phase, life.orders) == (Phase.STARTING, [Spawn(1)])


def test_since_tells_when_the_phase_began():
    """Looking again at a shut gate, or another reason, begins nothing."""
    life = Life().when(StartRequested(1), GateShut(2, WHY))
    assert life.when(DeadlinePassed(3), GateShut(4, Reason("other", "still"))).state.since == 2
    life = ready(5).when(ReadinessFailed(6, 1, WHY), ReadinessFailed(7, 1, Reason("other", "still")))
    assert life.state.since == 6
    assert life.when(ShimLost(8, 1)).state.since == 6


def test_gates_that_never_answer_are_asked_again():
    """A lost answer cannot hold a worker for ever."""
    life = Life().when(StartRequested(0), DeadlinePassed(30))
    assert (life.phase, life.state.reason.code) == (Phase.BLOCKED, "gate-silent")
    life.when(DeadlinePassed(31))
    assert life.orders == [CheckGates()]
    life.when(DeadlinePassed(31 + 30))
    assert (life.phase, life.state.reason.code) == (Phase.BLOCKED, "gate-silent")
    blocked = in_phase(Phase.BLOCKED).when(DeadlinePassed(1), DeadlinePassed(1 + 30))
    assert (blocked.state.reason.code, blocked.orders, blocked.state.deadline) == ("gate-silent", [], 31 + 1)


def test_an_answer_that_nobody_waits_for_spawns_nothing():
    """Two answers of the gates make one process."""
    assert starting().when(GateOpened(1)).orders == []
    assert starting().when(GateShut(1, WHY)).phase is Phase.STARTING


def test_ready_needs_startup_and_then_a_generation():
    """Readiness that is reported before startup passed proves nothing."""
    life = starting().when(ReadinessPassed(1, 1))
    assert life.phase is Phase.STARTING
    life.when(StartupPassed(2, 1))
    assert (life.phase, life.orders) == (Phase.WARMING, [])
    life.when(ReadinessPassed(3, 1))
    assert (life.phase, life.orders, life.state.deadline) == (Phase.READY, [OpenFront(1)], None)


def test_progress_moves_the_start_deadline_up_to_the_cap():
    """A slow start that moves is not a stuck start, but it ends some time."""
    life = starting(0).when(Progressed(20, 1))
    assert life.state.deadline == 50
    life.when(Progressed(45, 1))
    assert life.state.deadline == 75
    life.when(Progressed(74, 1))
    assert life.state.deadline == 100


def test_a_start_without_progress_is_ended_with_evidence():
    """The late worker is stopped and tried again, at the budget's cost."""
    life = starting(0).when(DeadlinePassed(30))
    assert (life.phase, life.state.reason.code, life.state.next) == (Phase.STOPPING, "start-timeout", Next.RETRY)
    assert life.orders == [SaveEvidence(1, life.state.reason), EndProbes(1), HoldFront(), Terminate(1)]


def test_a_half_alive_start_is_named_so():
    """It answers but generates nothing."""
    assert warming(0).when(DeadlinePassed(30)).state.reason.code == "startup-wedged"


def test_a_wake_up_that_is_too_early_means_nothing():
    """Only the deadline in the state counts."""
    life = starting(0)
    before = life.state
    assert life.when(DeadlinePassed(29.9)).state == before


def test_spawned_begins_the_probes():
    """Nobody is asked before it exists."""
    assert starting().orders == [BeginProbes(1)]


@pytest.mark.parametrize(("permanent", "phase"), [(True, Phase.FAILED), (False, Phase.STARTING)])
def test_a_spawn_that_fails(permanent, phase):
    """A missing executable is final; a passing trouble costs a restart."""
    life = Life().when(StartRequested(0), GateOpened(0), SpawnFailed(1, 1, WHY, permanent=permanent))
    assert life.phase is phase
    assert life.state.restarts == (() if permanent else (1,))


# --- crashes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, None])
def test_an_exit_nobody_asked_for_is_a_crash_whatever_its_status(code):
    """vLLM exits 0 after its engine died."""
    record = ExitRecord(code, None, "engine-dead", "the engine died")
    life = ready().when(Exited(50, 1, record))
    assert (life.phase, life.state.next, life.state.reason) == (
        Phase.STOPPING, Next.RETRY, Reason("engine-dead", "the engine died"),
    )  # fmt: skip
    assert life.orders == [EndProbes(1), HoldFront()]
    assert life.state.deadline == 50 + 4
    life.when(Swept(51, 1))
    assert (life.phase, life.orders, life.state.restarts) == (Phase.STARTING, [HoldFront(), CheckGates()], (51,))
    assert life.state.last_exit == record


def test_nothing_is_spawned_before_the_tree_is_swept():
    """The dead leader's children may hold the card."""
    life = ready().when(Exited(50, 1, CRASH))
    assert life.when(GateOpened(50)).orders == []
    assert life.phase is Phase.STOPPING


def test_the_first_restart_is_immediate_and_the_next_ones_wait():
    """Back-off is 0, 2, 6 s here, then the budget is spent."""
    life = ready(0).when(Exited(1, 1, CRASH), Swept(1, 1))
    assert life.phase is Phase.STARTING
    life.when(GateOpened(1), Spawned(1, 2), Exited(2, 2, CRASH), Swept(2, 2))
    assert (life.phase, life.state.deadline, life.orders) == (Phase.BACKOFF, 4, [HoldFront()])
    life.when(DeadlinePassed(4), GateOpened(4), Spawned(4, 3), Exited(5, 3, CRASH), Swept(5, 3))
    assert (life.phase, life.state.deadline) == (Phase.BACKOFF, 11)
    life.when(DeadlinePassed(11), GateOpened(11), Spawned(11, 4), Exited(12, 4, CRASH), Swept(12, 4))
    assert (life.phase, life.state.reason.code) == (Phase.FAILED, "budget-spent")
    assert life.orders == [CloseFront(life.state.reason)]
    assert "3 restarts in 600 s" in life.state.reason.text
    assert "killed by signal 9" in life.state.reason.text


def test_the_shortest_back_off_is_waited_for():
    """Half a second is not nothing."""
    life = in_phase(Phase.BACKOFF)
    assert life.state.deadline == 2
    life = ready()
    life.policy = replace(POLICY, backoff_initial=0.5)
    life.when(Exited(0, 1, CRASH), Swept(0, 1), GateOpened(0), Spawned(0, 2), Exited(0, 2, CRASH), Swept(0, 2))
    assert (life.phase, life.state.deadline) == (Phase.BACKOFF, 0.5)


def test_a_sweep_that_never_ends_is_hurried():
    """The shim may be stuck itself."""
    assert ready().when(Exited(50, 1, CRASH), DeadlinePassed(54)).orders == [Kill(1)]


def test_every_life_gets_its_own_kill():
    """That an earlier stop came to SIGKILL does not make the next one unkillable."""
    life = ready().when(LivenessFailed(60, 1, WHY), DeadlinePassed(65), Exited(66, 1, CRASH), Swept(66, 1))
    life.when(GateOpened(66), Spawned(66, 2), LivenessFailed(70, 2, WHY), DeadlinePassed(75))
    assert (life.phase, life.orders) == (Phase.STOPPING, [Kill(2)])
    life = ready().when(StopRequested(1, drain=False), DeadlinePassed(6))
    assert life.when(Exited(7, 1, CRASH)).state.killed is True


def test_a_hopeless_start_is_not_tried_again():
    """A bad flag is as bad the second time."""
    life = starting().when(Exited(1, 1, HOPELESS))
    assert life.orders == [EndProbes(1), CloseFront(Reason("bad-config", HOPELESS.text))]
    life.when(Swept(2, 1))
    assert (life.phase, life.state.reason.code, life.state.restarts) == (Phase.FAILED, "bad-config", ())


def test_what_was_ready_once_is_never_hopeless():
    """The same words in the log of a worker that served are a crash."""
    life = ready().when(Exited(1, 1, HOPELESS), Swept(2, 1))
    assert life.phase is Phase.STARTING


def test_a_sweep_without_an_exit_report_is_a_death_too():
    """A lost report does not leave a ghost."""
    life = ready().when(Swept(9, 1))
    assert (life.phase, life.state.restarts, life.state.last_exit.cause) == (Phase.STARTING, (9,), "unknown")


def test_a_hung_engine_is_ended_with_evidence_first():
    """What shows the fault is kept before it is destroyed."""
    life = ready().when(LivenessFailed(60, 1, WHY))
    assert life.orders == [SaveEvidence(1, WHY), EndProbes(1), HoldFront(), Terminate(1)]
    assert (life.phase, life.state.deadline, life.state.next) == (Phase.STOPPING, 65, Next.RETRY)


def test_a_condemned_worker_is_ended_with_evidence_and_not_started_again():
    """Neither by its budget nor by its next exit; a person can."""
    life = ready().when(Condemned(60, 1, WHY))
    assert life.orders == [SaveEvidence(1, WHY), EndProbes(1), CloseFront(WHY), Terminate(1)]
    life.when(Exited(61, 1, CRASH), Swept(61, 1))
    assert (life.phase, life.state.reason, life.state.wanted) == (Phase.FAILED, WHY, True)
    assert life.when(StartRequested(90)).phase is Phase.STARTING


def test_a_condemned_worker_that_waits_for_its_start_gives_up():
    """Whether the gates are being asked, are shut, or a pause is on; a death on its way in becomes the last one."""
    asking = ready().when(Exited(1, 1, CRASH), Swept(1, 1))
    assert asking.state.checking
    assert asking.when(Condemned(2, 1, WHY)).phase is Phase.FAILED
    assert asking.when(GateOpened(3)).phase is Phase.FAILED
    dying = ready().when(Exited(1, 1, CRASH), Condemned(2, 1, WHY), Swept(3, 1))
    assert (dying.phase, dying.state.reason) == (Phase.FAILED, WHY)


def test_an_operators_stop_outlives_a_condemnation():
    """It stays a stop: the worker is down because somebody wanted it."""
    life = ready().when(StopRequested(1, drain=False), Condemned(2, 1, WHY), Exited(3, 1, CRASH), Swept(3, 1))
    assert (life.phase, life.state.reason.code) == (Phase.STOPPED, "operator")


def test_a_stop_escalates_to_a_kill_and_then_gives_up():
    """An unkillable process never gets a second one beside it."""
    life = ready().when(LivenessFailed(60, 1, WHY), DeadlinePassed(65))
    assert (life.orders, life.state.killed, life.state.deadline) == ([Kill(1)], True, 69)
    life.when(DeadlinePassed(69))
    assert (life.phase, life.state.reason.code) == (Phase.FAILED, "unkillable")
    life.when(Swept(100, 1))
    assert (life.phase, life.state.reason.code) == (Phase.FAILED, "was-unkillable")


def test_survivors_of_a_sweep_are_unkillable():
    """The shim could not end them."""
    life = ready().when(Exited(1, 1, CRASH), Swept(2, 1, survivors=1))
    assert (life.phase, life.state.reason.code) == (Phase.FAILED, "unkillable")
    assert life.when(Swept(3, 1, survivors=1)).state.reason.code == "unkillable"


# --- readiness ------------------------------------------------------------------------------------------------


def test_failed_readiness_takes_the_worker_out_of_traffic_until_it_passes():
    """Degraded is not dead."""
    life = ready().when(ReadinessFailed(10, 1, WHY))
    assert (life.phase, life.state.reason, life.orders) == (Phase.DEGRADED, WHY, [HoldFront()])
    other = Reason("other", "still")
    assert life.when(ReadinessFailed(11, 1, other)).state.reason == other
    life.when(ReadinessPassed(12, 1))
    assert (life.phase, life.orders) == (Phase.READY, [OpenFront(1)])


# --- what people ask ------------------------------------------------------------------------------------------


def test_a_stop_drains_then_terminates_and_stays_down():
    """An operator's stop is final."""
    life = ready().when(StopRequested(10))
    assert (life.phase, life.state.deadline, life.state.wanted) == (Phase.DRAINING, 20, False)
    assert life.orders == [EndProbes(1), CloseFront(life.state.reason), WaitDrained(1)]
    life.when(Drained(12, 1))
    assert (life.phase, life.state.deadline) == (Phase.STOPPING, 17)
    assert Terminate(1) in life.orders
    ended = ExitRecord(0, None, "stopped", "")
    life.when(Exited(13, 1, ended))
    assert (life.phase, life.orders, life.state.last_exit) == (Phase.STOPPING, [], ended)
    life.when(Swept(13, 1))
    assert (life.phase, life.state.wanted, life.state.restarts) == (Phase.STOPPED, False, ())
    assert life.state.reason == Reason("operator", "stopped by the operator")


def test_a_drain_that_takes_too_long_is_cut():
    """Its deadline is the operator's."""
    assert ready().when(StopRequested(10), DeadlinePassed(20)).phase is Phase.STOPPING


def test_a_stop_without_drain_terminates_at_once():
    """Also in the middle of a drain."""
    assert ready().when(StopRequested(10, drain=False)).phase is Phase.STOPPING
    life = ready().when(RestartRequested(10), StopRequested(11, drain=False))
    assert (life.phase, life.state.next, life.state.deadline) == (Phase.STOPPING, Next.DOWN, 11 + 5)


@pytest.mark.parametrize("again", [StopRequested(3), StopRequested(3, drain=False), RestartRequested(3, drain=False)])
def test_a_stop_under_way_keeps_its_deadline(again):
    """Asking twice neither signals twice nor buys the process more time."""
    life = ready().when(LivenessFailed(1, 1, WHY), again)
    assert (life.phase, life.state.deadline) == (Phase.STOPPING, 1 + 5)
    then = Next.START if isinstance(again, RestartRequested) else Next.DOWN
    assert (life.state.next, len(life.orders), Terminate(1) in life.orders) == (then, 1, False)


def test_a_drain_under_way_keeps_its_deadline():
    """And ends for the reason that was given last."""
    life = ready().when(RestartRequested(1), StopRequested(3))
    assert (life.phase, life.state.next, life.state.deadline) == (Phase.DRAINING, Next.DOWN, 1 + 10)
    assert life.orders == [CloseFront(life.state.reason)]


def test_a_stop_of_what_is_down_is_noted():
    """A failed worker is put to rest; one that rests keeps resting."""
    life = in_phase(Phase.FAILED).when(StopRequested(1))
    assert (life.phase, life.state.wanted, life.orders) == (Phase.STOPPED, False, [CloseFront(life.state.reason)])
    life = in_phase(Phase.STOPPED).when(StopRequested(1))
    assert (life.phase, life.state.reason.code, life.orders) == (Phase.STOPPED, "operator", [])
    assert life.when(StopRequested(2, keep_wanted=True)).state.reason.code == "operator"


def test_no_drain_time_means_no_drain():
    """A drain of 0 s goes straight to SIGTERM."""
    life = ready()
    life.policy = replace(POLICY, drain=0)
    life.when(StopRequested(10))
    assert (life.phase, life.state.next) == (Phase.STOPPING, Next.DOWN)
    life = ready()
    life.policy = replace(POLICY, drain=0.5)
    assert life.when(StopRequested(10)).phase is Phase.DRAINING


@pytest.mark.parametrize("phase", [Phase.BLOCKED, Phase.BACKOFF])
def test_a_stop_while_waiting_needs_no_process(phase):
    """Nothing lives, so nothing is signalled."""
    life = in_phase(phase).when(StopRequested(1))
    assert (life.phase, life.orders) == (Phase.STOPPED, [CloseFront(life.state.reason)])


def test_a_stop_while_the_gates_are_asked_ends_there():
    """The late answer finds nobody waiting."""
    life = Life().when(StartRequested(0), StopRequested(1))
    assert life.phase is Phase.STOPPED
    assert life.when(GateOpened(2)).orders == []


def test_a_stop_that_overtakes_the_spawn_terminates_what_it_brings():
    """The first SIGTERM went to nobody."""
    life = Life().when(StartRequested(0), GateOpened(0), StopRequested(1))
    assert (life.phase, life.orders[-1]) == (Phase.STOPPING, Terminate(1))
    assert life.when(Spawned(2, 1)).orders == [Terminate(1)]


def test_a_stop_during_a_restart_wins():
    """Whatever the stop was for, the operator's word replaces it."""
    life = ready().when(Exited(1, 1, CRASH), StopRequested(2), Swept(3, 1))
    assert (life.phase, life.state.wanted) == (Phase.STOPPED, False)


def test_a_start_during_a_stop_comes_back():
    """And costs nothing."""
    life = ready().when(StopRequested(1), StartRequested(2))
    assert (life.phase, life.state.next, life.state.wanted) == (Phase.DRAINING, Next.START, True)
    assert (life.orders, life.state.deadline) == ([HoldFront()], 1 + 10)
    life.when(Drained(3, 1), Exited(3, 1, CRASH), Swept(4, 1))
    assert (life.phase, life.state.restarts) == (Phase.STARTING, ())


def test_a_start_during_a_crash_restart_still_pays():
    """An idempotent start is not a way round the budget."""
    life = ready().when(Exited(1, 1, CRASH), StartRequested(2))
    assert life.state.next is Next.RETRY
    restarting = ready().when(RestartRequested(1, text="new flags"), StartRequested(2))
    assert (restarting.orders, restarting.state.reason.text) == ([], "new flags")
    hopeless = starting().when(Exited(1, 1, HOPELESS), StartRequested(2))
    assert hopeless.state.next is Next.START


def test_a_restart_drains_and_spends_no_budget():
    """New requests are held, not refused."""
    life = ready().when(RestartRequested(10))
    assert (life.phase, life.state.next) == (Phase.DRAINING, Next.START)
    assert life.orders == [EndProbes(1), HoldFront(), WaitDrained(1)]
    life.when(Drained(11, 1), Exited(12, 1, CRASH), Swept(12, 1))
    assert (life.phase, life.state.restarts, life.state.wanted) == (Phase.STARTING, (), True)


@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED, Phase.BLOCKED, Phase.BACKOFF])
def test_a_restart_of_what_does_not_run_starts_it(phase):
    """Restart means: be up, anew."""
    life = in_phase(phase).when(RestartRequested(10))
    assert (life.phase, life.state.wanted) == (Phase.STARTING, True)
    assert CheckGates() in life.orders


def test_a_restart_while_the_gates_are_asked_asks_nothing_more():
    """Nothing lives that could be restarted."""
    assert Life().when(StartRequested(0), RestartRequested(1)).orders == []


def test_a_restart_without_drain_and_during_a_drain():
    """It hurries where asked to."""
    life = ready().when(RestartRequested(1, drain=False))
    assert (life.phase, life.state.next) == (Phase.STOPPING, Next.START)
    life = ready().when(StopRequested(1), RestartRequested(2, drain=False))
    assert (life.phase, life.state.next, life.state.deadline) == (Phase.STOPPING, Next.START, 2 + 5)
    life = ready().when(StopRequested(1), RestartRequested(2))
    assert (life.phase, life.state.next, life.orders) == (Phase.DRAINING, Next.START, [HoldFront()])
    life = starting().when(RestartRequested(1))
    assert (life.phase, life.state.next) == (Phase.STOPPING, Next.START)
    life = ready().when(Exited(1, 1, CRASH), RestartRequested(2))
    assert life.state.next is Next.START


def test_a_reset_forgets_and_tries_again():
    """Of what gave up or waits; a ready worker keeps serving."""
    life = in_phase(Phase.FAILED).when(ResetRequested(9))
    assert (life.phase, life.state.restarts) == (Phase.STARTING, ())
    assert in_phase(Phase.BACKOFF).when(ResetRequested(9)).phase is Phase.STARTING
    unwanted = in_phase(Phase.FAILED)
    unwanted.state = replace(unwanted.state, wanted=False)
    assert unwanted.when(ResetRequested(9)).phase is Phase.STOPPED
    spent = ready()
    spent.state = replace(spent.state, restarts=(1.0, 2.0))
    assert spent.when(ResetRequested(9)).phase is Phase.READY
    assert spent.state.restarts == ()


def test_a_start_of_a_failed_worker_is_a_fresh_start():
    """With the whole budget."""
    life = in_phase(Phase.FAILED)
    life.state = replace(life.state, restarts=(1.0, 2.0, 3.0))
    assert life.when(StartRequested(9)).state.restarts == ()
    life = in_phase(Phase.FAILED)
    life.state = replace(life.state, restarts=(1.0, 2.0, 3.0))
    assert life.when(RestartRequested(9)).state.restarts == ()


def test_a_start_of_a_blocked_worker_looks_at_once():
    """But never twice at the same time."""
    life = in_phase(Phase.BLOCKED).when(StartRequested(0.5))
    assert life.orders == [CheckGates()]
    assert life.when(StartRequested(0.6)).orders == []


def test_a_start_in_backoff_does_not_wait():
    """The operator knows better."""
    assert in_phase(Phase.BACKOFF).when(StartRequested(1)).orders == [HoldFront(), CheckGates()]


def test_a_shutdown_stops_but_remembers():
    """The next daemon starts what ran."""
    life = ready().when(StopRequested(1, keep_wanted=True))
    assert (life.phase, life.state.wanted) == (Phase.DRAINING, True)
    life.when(Drained(2, 1), Exited(2, 1, CRASH), Swept(2, 1))
    assert (life.phase, life.state.wanted) == (Phase.STOPPED, True)
    assert in_phase(Phase.FAILED).when(StopRequested(1, keep_wanted=True)).phase is Phase.FAILED
    assert in_phase(Phase.STOPPED).when(StopRequested(1, keep_wanted=True)).state.wanted is False


def test_a_lost_dependency_takes_the_worker_down_until_it_is_back():
    """Its gate then decides."""
    life = ready().when(DependencyLost(1, WHY))
    assert (life.phase, life.state.next, life.state.wanted) == (Phase.DRAINING, Next.START, True)
    for life in (warming(), starting()):
        life.when(DependencyLost(1, WHY))
        assert (life.phase, life.state.next) == (Phase.STOPPING, Next.START)
    assert Life().when(StartRequested(0), DependencyLost(1, WHY)).phase is Phase.STARTING


# --- the shim -------------------------------------------------------------------------------------------------


def test_a_lost_shim_degrades_and_is_replaced_by_drain_and_restart():
    """Traffic flows on until the drain begins."""
    life = ready().when(ShimLost(5, 1))
    assert (life.phase, life.state.reason.code, life.orders, life.state.deadline) == (
        Phase.DEGRADED, "shim-lost", [], 5,
    )  # fmt: skip
    assert life.when(ReadinessPassed(5, 1)).phase is Phase.DEGRADED
    assert life.when(ReadinessFailed(5, 1, WHY)).state.reason.code == "shim-lost"
    life.when(DeadlinePassed(5))
    assert (life.phase, life.state.next, life.orders) == (
        Phase.DRAINING, Next.RETRY, [EndProbes(1), HoldFront(), WaitDrained(1)],
    )  # fmt: skip


def test_a_new_life_has_a_shim():
    """It may degrade and recover, which one without a shim may not."""
    life = ready().when(ShimLost(5, 1), DeadlinePassed(5), Drained(5, 1), Exited(5, 1, CRASH), Swept(5, 1))
    life.when(GateOpened(6), Spawned(6, 2), StartupPassed(7, 2), ReadinessPassed(8, 2))
    assert life.when(ReadinessFailed(9, 2, WHY), ReadinessPassed(10, 2)).phase is Phase.READY


def test_a_shim_lost_during_a_start_restarts_at_once():
    """There is nothing to drain."""
    for life in (starting(), warming()):
        life.when(ShimLost(1, 1))
        assert (life.phase, life.state.next) == (Phase.STOPPING, Next.RETRY)


# --- a new daemon ---------------------------------------------------------------------------------------------


def test_an_adopted_ready_worker_stays_ready():
    """It was proven, and it is the same life."""
    life = ready().when(Adopted(9, 1))
    assert (life.phase, life.orders) == (Phase.READY, [OpenFront(1), BeginProbes(1, proven=True)])


def test_an_adopted_degraded_worker_stays_out_of_traffic():
    """Until its readiness passes again; it has proven itself before."""
    life = in_phase(Phase.DEGRADED).when(Adopted(9, 1))
    assert (life.phase, life.orders) == (Phase.DEGRADED, [HoldFront(), BeginProbes(1, proven=True)])


def test_a_life_that_is_found_while_the_gates_are_asked_starts_now():
    """Its cap does not count from a start that is long over."""
    life = ready(0).when(Exited(900, 1, CRASH), Swept(900, 1), Adopted(901, 1))
    assert (life.phase, life.state.deadline) == (Phase.STARTING, 901 + 30)


def test_an_adopted_starting_worker_proves_itself_from_the_beginning():
    """With a new deadline."""
    for life in (starting(), warming()):
        life.when(Adopted(9, 1))
        assert (life.phase, life.orders, life.state.deadline) == (
            Phase.STARTING, [HoldFront(), BeginProbes(1)], 39,
        )  # fmt: skip


def test_an_adopted_leaving_worker_goes_on_leaving():
    """Under the deadline it had."""
    life = ready().when(StopRequested(1), Adopted(9, 1))
    assert (life.phase, life.orders[1:], life.state.deadline) == (Phase.DRAINING, [WaitDrained(1)], 11)
    assert life.orders[0] == CloseFront(life.state.reason)
    returning = ready().when(RestartRequested(1), Adopted(9, 1))
    assert returning.orders == [HoldFront(), WaitDrained(1)]
    returning.when(Drained(10, 1), Adopted(11, 1))
    assert returning.orders == [HoldFront(), Terminate(1)]
    life.when(Drained(10, 1), Adopted(11, 1))
    assert (life.phase, life.orders[1:]) == (Phase.STOPPING, [Terminate(1)])
    life.when(DeadlinePassed(15), Adopted(16, 1))
    assert life.orders[1:] == [Kill(1)]


def test_a_process_that_should_not_live_is_ended():
    """Of a worker that is down."""
    stopped = Life(WorkerState(incarnation=3, reason=WHY)).when(Adopted(9, 3))
    assert (stopped.phase, stopped.state.next, stopped.orders[-1]) == (Phase.STOPPING, Next.DOWN, Terminate(3))
    backoff = in_phase(Phase.BACKOFF).when(Adopted(9, 2))
    assert (backoff.phase, backoff.state.next) == (Phase.STOPPING, Next.START)


def test_a_lost_store_believes_the_process():
    """It proves itself again; an operator's later stop is not undone."""
    life = Life().when(Adopted(9, 7))
    assert (life.phase, life.state.incarnation, life.state.wanted) == (Phase.STARTING, 7, True)
    assert (life.state.since, life.state.started) == (9, 9)
    assert life.when(Progressed(90, 7)).state.deadline == 9 + 100
    stopped = Life().when(StopRequested(1), Adopted(9, 7))
    assert (stopped.phase, stopped.state.wanted) == (Phase.STOPPING, False)


def test_an_adopted_worker_without_a_shim_is_replaced():
    """As if the shim had died just now."""
    life = ready().when(Adopted(9, 1, shim_lost=True))
    assert (life.phase, life.state.shim_lost, life.state.deadline) == (Phase.DEGRADED, True, 9)
    assert life.orders == [OpenFront(1), BeginProbes(1, proven=True)]
    young = warming().when(Adopted(9, 1, shim_lost=True))
    assert young.orders == [HoldFront(), BeginProbes(1), EndProbes(1), HoldFront(), Terminate(1)]
    leaving = ready().when(StopRequested(1), Adopted(9, 1, shim_lost=True))
    assert (leaving.phase, leaving.state.shim_lost) == (Phase.DRAINING, True)


def test_what_died_while_no_daemon_ran_is_a_crash():
    """Unless it never was, or the whole machine went down."""
    for life in (starting(), warming(), ready()):
        life.when(Vanished(9, CRASH))
        assert (life.phase, life.state.restarts, life.state.last_exit) == (Phase.STARTING, (9,), CRASH)
    for event in (Vanished(9, CRASH, spawned=False), Vanished(9, CRASH, rebooted=True)):
        assert ready().when(event).state.restarts == ()
        assert ready().when(event).orders == [HoldFront(), CheckGates()]


def test_what_vanished_while_leaving_has_left():
    """And does next what the stop was for."""
    assert ready().when(StopRequested(1), Vanished(9, CRASH)).phase is Phase.STOPPED
    assert ready().when(RestartRequested(1), Vanished(9, CRASH)).phase is Phase.STARTING


def test_what_was_waiting_goes_on_waiting_for_its_gates():
    """Nothing is spawned without asking."""
    for phase in (Phase.BLOCKED, Phase.BACKOFF):
        assert in_phase(phase).when(Vanished(9, CRASH)).orders == [HoldFront(), CheckGates()]
    for phase in (Phase.STOPPED, Phase.FAILED):
        assert in_phase(phase).when(Vanished(9, CRASH)).orders == []


# --- stale reports --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "event",
    [
        Exited(9, 1, CRASH), Swept(9, 1), ShimLost(9, 1), ReadinessPassed(9, 1), LivenessFailed(9, 1, WHY),
        Drained(9, 1), StartupPassed(9, 1), Spawned(9, 1), SpawnFailed(9, 1, WHY), Progressed(9, 1),
        ReadinessFailed(9, 1, WHY),
    ],
    ids=lambda event: type(event).__name__,
)  # fmt: skip
def test_a_report_about_an_older_life_changes_nothing(event):
    """Whatever it says."""
    life = ready().when(Exited(1, 1, CRASH), Swept(1, 1), GateOpened(1), Spawned(1, 2), StartupPassed(2, 2))
    before = life.state
    life.when(event)
    assert (life.state, life.orders) == (before, [])
