"""One worker's actor: what it does in which order, and what goes on although something fails."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from genesisd.errors import ConfigError, ConflictError, UnavailableError
from genesisd.supervisor import actor as module
from genesisd.supervisor.actor import Actor
from genesisd.supervisor.model import (
    Adopted,
    Exited,
    ExitRecord,
    GateShut,
    LivenessFailed,
    Phase,
    Policy,
    Progressed,
    Reason,
    ResetRequested,
    StartRequested,
    StopRequested,
    Swept,
    WorkerState,
)
from genesisd.supervisor.ports import SpawnError
from tests.fakes.supervision import SECONDS, Fakes, events_until_ready, life

UP = WorkerState(phase=Phase.READY, wanted=True, incarnation=3, reason=Reason("ready", "serving"))
CRASH = ExitRecord(None, 9, "killed", "killed by signal 9")


@asynccontextmanager
async def running(fakes, state=WorkerState(), policy=Policy()):  # noqa: B008 - frozen
    actor = Actor("w", state, policy, fakes.ports())
    fakes.runner.reports.setdefault("w", actor.post)
    task = asyncio.create_task(actor.run())
    try:
        async with asyncio.timeout(SECONDS):
            yield actor
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def up(fakes, state=UP):
    """A worker that an earlier daemon left running."""
    fakes.runner.lives["w"] = life("w", state.incarnation)
    return state


async def test_intent_is_on_disk_before_anything_is_spawned():
    """A daemon that dies between the two finds in the store what it was about to do."""
    fakes = Fakes()
    async with running(fakes) as actor:
        await actor.decide(StartRequested(fakes.clock.now))
        await fakes.log.until("born")
    saved = fakes.log.index(("save", "w", "starting", 1))
    assert saved < fakes.log.index(("prepare", "w", 1)) < fakes.log.index(("spawn", "w", 1))


async def test_a_start_ends_in_ready_with_an_open_front():
    """Gates, spawn, probes and front follow one another."""
    fakes = Fakes()
    fakes.prober.auto = events_until_ready(fakes.clock)
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.READY}))
        await fakes.log.until("open")
    steps = [words[0] for words in fakes.log if words[0] not in {"save", "changed"}]
    assert steps == ["hold", "check", "prepare", "spawn", "born", "probe", "open"]
    phases = [words[2] for words in fakes.log.named("changed")]
    assert list(dict.fromkeys(phases)) == ["starting", "warming", "ready"]


@pytest.mark.parametrize("error", [UnavailableError("no front"), OSError("gone"), TypeError("a bug")], ids=repr)
async def test_an_effect_that_fails_keeps_no_other_back(error):
    """A front that is silent, or broken by a bug, does not keep a SIGTERM back."""
    fakes = Fakes()
    fakes.log.fail = {"unprobe": error, "shut": error}
    async with running(fakes, up(fakes)) as actor:
        actor.post(StopRequested(fakes.clock.now, drain=False))
        await actor.until(frozenset({Phase.STOPPED}))
    assert fakes.log.named("terminate") == [("terminate", "w", 3)]
    assert ("w", "EndProbes", error) in fakes.watcher.troubles


@pytest.mark.parametrize("error", [UnavailableError("disk"), OSError("full"), RuntimeError("closed")], ids=repr)
async def test_a_store_that_fails_does_not_stop_supervision(error):
    """What cannot be written is told, and done all the same."""
    fakes = Fakes()
    fakes.log.fail = {"save": error}
    fakes.prober.auto = events_until_ready(fakes.clock)
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.READY}))
        actor.post(StopRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.STOPPED}))
    assert ("w", "save", error) in fakes.watcher.troubles


async def test_an_observer_that_fails_does_not_swallow_orders():
    """Metrics and journal are told by code that may have bugs; the worker is terminated nevertheless."""
    fakes = Fakes()
    fakes.log.fail = {"changed": KeyError("w")}
    async with running(fakes, up(fakes)) as actor:
        actor.post(StopRequested(fakes.clock.now, drain=False))
        await actor.until(frozenset({Phase.STOPPED}))
    assert fakes.log.named("terminate") == [("terminate", "w", 3)]


async def test_a_bug_in_a_decision_does_not_kill_the_actor(monkeypatch):
    """The event is lost and told of; the next one is handled."""
    fakes = Fakes()
    decide = module.decide

    def broken(state, event, policy):
        if isinstance(event, ResetRequested):
            raise RuntimeError("a bug")
        return decide(state, event, policy)

    monkeypatch.setattr(module, "decide", broken)
    async with running(fakes) as actor:
        await actor.decide(ResetRequested(fakes.clock.now))
        await actor.decide(StartRequested(fakes.clock.now))
        assert actor.state.wanted
    assert [(worker, what) for worker, what, _ in fakes.watcher.troubles] == [("w", "ResetRequested")]


async def test_events_are_handled_in_the_order_of_their_arrival():
    """A stop that comes after a start wins."""
    fakes = Fakes()
    fakes.gates.shut["w"] = Reason("port-taken", "taken")
    async with running(fakes) as actor:
        for _ in range(20):
            actor.post(StartRequested(fakes.clock.now))
            actor.post(StopRequested(fakes.clock.now))
        await actor.decide(StartRequested(fakes.clock.now))
        assert actor.state.wanted
        await actor.decide(StopRequested(fakes.clock.now))
        assert (actor.state.wanted, actor.state.phase) == (False, Phase.STOPPED)
    assert fakes.log.named("spawn") == []


async def test_decide_returns_once_the_state_shows_it_and_orders_were_given():
    """Whoever ordered a stop sees 'draining' or later in the answer, never 'ready'."""
    fakes = Fakes()
    fakes.front.flying["w"] = 1
    async with running(fakes, up(fakes)) as actor:
        await actor.decide(StopRequested(fakes.clock.now))
        assert actor.state.phase is Phase.DRAINING
        assert [words[0] for words in fakes.log.named("unprobe", "shut")] == ["unprobe", "shut"]


async def test_decide_waits_for_its_own_event_and_not_for_an_earlier_one():
    """Ten that order at once all see their own order obeyed."""
    fakes = Fakes()
    fakes.gates.shut["w"] = Reason("port-taken", "taken")
    async with running(fakes) as actor:
        seen = []

        async def start_and_look():
            await actor.decide(StartRequested(fakes.clock.now))
            seen.append(actor.state.wanted)

        await asyncio.gather(*(start_and_look() for _ in range(10)))
    assert seen == [True] * 10


async def test_a_deadline_fires_without_any_event():
    """SIGTERM that does not help is followed by SIGKILL when the grace is over."""
    fakes = Fakes()
    fakes.runner.stubborn = True
    async with running(fakes, up(fakes), Policy(grace=5)) as actor:
        await actor.decide(StopRequested(fakes.clock.now, drain=False))
        assert (actor.state.phase, actor.state.deadline) == (Phase.STOPPING, fakes.clock.now + 5)
        fakes.clock.now += 6
        actor.post(ResetRequested(fakes.clock.now))  # wakes it, so that it looks at the clock again
        await actor.until(frozenset({Phase.STOPPED}))
    assert [words[0] for words in fakes.log.named("terminate", "kill")] == ["terminate", "kill"]


async def test_a_deadline_that_passed_while_no_daemon_ran_fires_at_once():
    """The clock is the kernel's, so a stored deadline means something to the next daemon."""
    fakes = Fakes()
    fakes.runner.stubborn = True
    state = replace(UP, phase=Phase.STOPPING, wanted=False, deadline=fakes.clock.now - 1)
    fakes.runner.reports["w"] = lambda event: None
    async with running(fakes, up(fakes, state)):
        await fakes.log.until("kill")


async def test_a_moved_deadline_alone_is_not_written():
    """Progress of a long start does not wear out the disk."""
    fakes = Fakes()
    state = replace(UP, phase=Phase.STARTING, started=fakes.clock.now, deadline=fakes.clock.now + 300)
    async with running(fakes, state) as actor:
        fakes.clock.now += 10
        await actor.decide(Progressed(fakes.clock.now, 3))
        assert actor.state.deadline == fakes.clock.now + 300
    assert fakes.log.named("save") == []


async def test_a_shut_gate_blocks_with_its_reason_and_is_asked_again():
    """The pause over, the gates are asked once more; open, the worker starts."""
    fakes = Fakes()
    fakes.gates.shut["w"] = Reason("vram-held", "held by pid 7")
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.BLOCKED}))
        assert actor.state.reason.text == "held by pid 7"
        fakes.gates.shut.clear()
        fakes.clock.now += 2
        actor.post(StartRequested(fakes.clock.now))
        await fakes.log.until("spawn")
    assert len(fakes.log.named("check")) == 2


async def test_gates_that_do_not_answer_hold_nothing_up(monkeypatch):
    """A stop is obeyed while a gate is silent, and the silence becomes a reason."""
    monkeypatch.setattr(module, "GATE_SECONDS", 0.01)
    fakes = Fakes()
    never = asyncio.Event()
    fakes.gates.ask = lambda worker: never.wait()
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.BLOCKED}))
        assert actor.state.reason.code == "gate-silent"
        await actor.decide(StopRequested(fakes.clock.now))
        assert actor.state.phase is Phase.STOPPED


@pytest.mark.parametrize("error", [UnavailableError("no driver"), OSError("proc"), KeyError("w"), OSError()], ids=repr)
async def test_a_gate_that_fails_is_shut(error):
    """Not knowing is no permission, and also a bug gives an answer rather than silence."""
    fakes = Fakes()
    fakes.log.fail = {"check": error}
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.BLOCKED}))
        assert actor.state.reason.code == "gate-error"
        assert actor.state.reason.text.endswith(f"failed: {str(error) or 'OSError'}")
    assert fakes.log.named("spawn") == []


@pytest.mark.parametrize(
    ("error", "phase", "code"),
    [
        (SpawnError("no such file", cause="exec-failed", permanent=True), Phase.FAILED, "spawn-exec-failed"),
        (ConfigError("unknown pin"), Phase.FAILED, "spawn-config"),
        (SpawnError("no shim", cause="shim"), Phase.STARTING, "spawn-shim"),
        (UnavailableError("no port"), Phase.STARTING, "spawn-unavailable"),
        (OSError("no memory"), Phase.STARTING, "spawn-os"),
        (ValueError("embedded null byte"), Phase.STARTING, "spawn-error"),
    ],
    ids=lambda value: getattr(value, "name", None) or repr(value),
)
async def test_a_spawn_that_fails_is_an_answer(error, phase, code):
    """The hopeless fail at once, the others spend the budget; none waits for a deadline."""
    fakes = Fakes()
    fakes.log.fail = {"prepare": error}
    fakes.gates.ask = once_open_then_silent()
    async with running(fakes) as actor:
        actor.post(StartRequested(fakes.clock.now))
        await fakes.log.until("check" if phase is Phase.STARTING else "shut", 2 if phase is Phase.STARTING else 1)
        assert (actor.state.phase, actor.state.reason.code) == (phase, code)
        assert len(actor.state.restarts) == (phase is Phase.STARTING)
    assert fakes.log.named("born") == []


def once_open_then_silent():
    asked = []
    never = asyncio.Event()

    async def ask(worker):
        asked.append(worker)
        if len(asked) > 1:
            await never.wait()

    return ask


async def test_a_crash_is_answered_by_a_new_incarnation():
    """Exited and Swept lead to the next spawn, with nothing between."""
    fakes = Fakes()
    async with running(fakes, up(fakes)) as actor:
        actor.post(Exited(fakes.clock.now, 3, CRASH))
        actor.post(Swept(fakes.clock.now, 3))
        await fakes.log.until("born")
        assert (actor.state.incarnation, actor.state.last_exit) == (4, CRASH)
    assert fakes.log.named("spawn") == [("spawn", "w", 4)]


async def test_a_stale_report_changes_nothing():
    """A death of the last incarnation is not one of this."""
    fakes = Fakes()
    async with running(fakes, up(fakes)) as actor:
        await actor.decide(Exited(fakes.clock.now, 2, CRASH))
        assert actor.state == UP
    assert fakes.log.named("save", "changed") == []


async def test_evidence_is_saved_before_the_fault_is_ended_and_never_waited_for_long(monkeypatch):
    """A disk that hangs costs some seconds, not the restart."""
    monkeypatch.setattr(module, "EVIDENCE_SECONDS", 0.01)
    fakes = Fakes()
    never = asyncio.Event()

    async def hang(worker, incarnation, reason):
        fakes.log.note("evidence", worker)
        await never.wait()

    fakes.evidence.save = hang
    async with running(fakes, up(fakes)) as actor:
        await actor.decide(LivenessFailed(fakes.clock.now, 3, Reason("hung", "no step for 10 s")))
        await fakes.log.until("spawn")
    order = [words[0] for words in fakes.log.named("evidence", "terminate", "spawn")]
    assert order == ["evidence", "terminate", "spawn"]


async def test_a_drain_ends_when_nothing_is_in_flight():
    """SIGTERM comes once the count is 0, and not before."""
    fakes = Fakes()
    fakes.front.flying["w"] = 2
    async with running(fakes, up(fakes)) as actor:
        await actor.decide(StopRequested(fakes.clock.now))
        await fakes.log.until("count", 2)
        assert fakes.log.named("terminate") == []
        fakes.front.flying["w"] = 0
        await actor.until(frozenset({Phase.STOPPED}))
    assert fakes.log.named("terminate") == [("terminate", "w", 3)]


async def test_a_count_that_fails_does_not_count_as_none():
    """Requests that cannot be counted get the whole drain; its deadline ends it."""
    fakes = Fakes()
    fakes.log.fail = {"count": ValueError("not a number")}
    async with running(fakes, up(fakes), Policy(drain=30)) as actor:
        await actor.decide(StopRequested(fakes.clock.now))
        await fakes.log.until("trouble")
        assert actor.state.phase is Phase.DRAINING
        fakes.clock.now += 31
        actor.post(ResetRequested(fakes.clock.now))
        await actor.until(frozenset({Phase.STOPPED}))


async def test_probes_and_front_are_only_set_up_for_what_lives():
    """The leader died before its orders were carried out: nobody is asked, nothing is opened."""
    fakes = Fakes()
    async with running(fakes, UP) as actor:
        await actor.decide(Adopted(fakes.clock.now, 3))
    assert fakes.log.named("probe", "open") == []


async def test_a_cancelled_actor_stops_nothing_and_lets_go_of_its_questions():
    """Detaching leaves the process alone; gates and drains in progress end with the actor."""
    fakes = Fakes()
    fakes.front.flying["w"] = 1
    async with running(fakes, up(fakes)) as actor:
        await actor.decide(StopRequested(fakes.clock.now))
        await fakes.log.until("count")
    assert fakes.log.named("terminate", "kill") == []
    assert fakes.runner.life("w") is not None


async def test_nobody_waits_for_an_actor_that_has_ended():
    """An order or a wait that the end overtakes is refused, not left hanging; so is one that comes later."""
    fakes = Fakes()
    async with running(fakes, up(fakes)) as actor:
        waiting = asyncio.create_task(actor.until(frozenset({Phase.FAILED})))
        await asyncio.sleep(0)
    async with asyncio.timeout(SECONDS):
        with pytest.raises(ConflictError, match="not supervised"):
            await waiting
        with pytest.raises(ConflictError, match="not supervised"):
            await actor.decide(StartRequested(fakes.clock.now))


async def test_a_gate_that_answers_after_a_stop_spawns_nothing():
    """The answer of a question that nobody waits for any more means nothing."""
    fakes = Fakes()
    answer = asyncio.get_running_loop().create_future()
    fakes.gates.ask = lambda worker: answer
    async with running(fakes) as actor:
        await actor.decide(StartRequested(fakes.clock.now))
        await actor.decide(StopRequested(fakes.clock.now))
        answer.set_result(None)
        await actor.decide(GateShut(fakes.clock.now, Reason("x", "stale as well")))
        assert actor.state.phase is Phase.STOPPED
    assert fakes.log.named("spawn") == []


async def test_who_waits_sees_a_new_phase_before_its_orders_are_done():
    """Status and waiters need not wait for a slow disk."""
    fakes = Fakes()
    go = asyncio.Event()

    async def slow(worker, incarnation, reason):
        await go.wait()

    fakes.evidence.save = slow
    async with running(fakes, up(fakes)) as actor:
        waiting = asyncio.create_task(actor.until(frozenset({Phase.STOPPING})))
        await asyncio.sleep(0)
        actor.post(LivenessFailed(fakes.clock.now, 3, Reason("hung", "no step for 10 s")))
        assert (await waiting).phase is Phase.STOPPING
        assert fakes.log.named("terminate") == []
        go.set()
        await fakes.log.until("spawn")


async def test_questions_that_were_answered_are_not_kept():
    """A worker that is blocked for weeks asks once a second."""
    fakes = Fakes()
    fakes.gates.shut["w"] = Reason("port-taken", "taken")
    async with running(fakes) as actor:
        for n in range(1, 30):
            actor.post(StartRequested(fakes.clock.now))
            await fakes.log.until("check", n)
            await actor.until(frozenset({Phase.BLOCKED}))
            fakes.clock.now += 2
        assert len(actor._tasks) <= 1
