"""The set of actors: what is adopted, started, stopped and forgotten, and in which order."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from genesisd.errors import ConflictError, NotFoundError, UnavailableError
from genesisd.supervisor.model import (
    ExitRecord,
    Phase,
    Reason,
    StartRequested,
    StopRequested,
    WorkerState,
)
from genesisd.supervisor.order import waits_for
from genesisd.supervisor.ports import Found
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor, policy_of
from tests.fakes.supervision import SECONDS, Fakes, events_until_ready, life

READY = WorkerState(phase=Phase.READY, wanted=True, incarnation=3, reason=Reason("ready", "serving"))
CRASH = ExitRecord(None, 9, "killed", "killed by signal 9")


def spec(**fields):
    return WorkerSpec(command=("vllm",), **fields)


class Stage:
    """A supervisor over fakes, with the real order of dependencies as its gate."""

    def __init__(self, states=None):
        self.fakes = Fakes(states)
        self.log = self.fakes.log
        self.supervisor = Supervisor(lambda supervisor: self.fakes.ports())
        self.fakes.watcher.follow = self.supervisor.follow
        self.fakes.prober.auto = events_until_ready(self.fakes.clock)
        self.fakes.gates.ask = self._ask

    async def _ask(self, worker):
        return waits_for(self.supervisor.specs[worker], self.supervisor.states)

    def alive(self, *names, incarnation=3):
        for name in names:
            one = life(name, incarnation)
            self.fakes.runner.found[name] = Found(one, shim_alive=True, incarnation=incarnation, last_exit=None)

    async def start(self, specs, *, rebooted=False):
        await self.supervisor.start(specs, rebooted=rebooted)

    async def reach(self, phase, *names):
        for name in names or self.supervisor.actors:
            await self.supervisor.actor(name).until(frozenset({phase}))

    def spawned(self):
        return [words[1] for words in self.log.named("spawn")]

    def retry(self):
        """The pauses of the gates are over: waiting workers look again."""
        self.fakes.clock.now += 2
        for actor in self.supervisor.actors.values():
            if actor.state.phase is not Phase.STOPPED or actor.worker == "b":
                actor.post(StartRequested(self.fakes.clock.now))


@asynccontextmanager
async def stage(states=None):
    one = Stage(states)
    async with asyncio.timeout(SECONDS):
        yield one
    await one.supervisor.detach()


async def test_a_new_worker_starts_by_itself_unless_it_is_told_not_to():
    """``autostart`` counts for a worker that the store does not know."""
    async with stage() as one:
        await one.start({"a": spec(), "b": spec(autostart=False)})
        await one.reach(Phase.READY, "a")
        assert (one.supervisor.states["b"].phase, one.spawned()) == (Phase.STOPPED, ["a"])


async def test_adoption_comes_before_everything_else():
    """No spawn, no order and no change before it was looked whether something lives."""
    async with stage() as one:
        await one.start({"a": spec()})
        await one.reach(Phase.READY)
        assert one.log[0] == ("adopt", "a")


async def test_what_lives_is_adopted_and_not_started_again():
    """The same incarnation, its front opened again and its probes begun as proven."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec()})
        assert one.supervisor.states["a"].phase is Phase.READY
        assert one.supervisor.was_adopted("a")
        assert one.spawned() == []
        assert {("adopted", "a", 3, 4003), ("open", "a", 3), ("probe", "a", 3, True)} <= set(one.log)


async def test_an_adopted_worker_is_not_adopted_any_more_after_a_restart():
    """The mark belongs to the incarnation."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec()})
        one.fakes.runner.end("a", 3, CRASH)
        await one.log.until("born")
        assert not one.supervisor.was_adopted("a")


async def test_a_death_that_nobody_saw_is_mourned_and_mended():
    """The exit record of the shim becomes the worker's last exit, and a new incarnation follows."""
    async with stage({"a": READY}) as one:
        one.fakes.runner.found["a"] = Found(None, shim_alive=True, incarnation=3, last_exit=CRASH)
        await one.start({"a": spec()})
        await one.reach(Phase.READY)
        state = one.supervisor.states["a"]
        assert (state.incarnation, state.last_exit, len(state.restarts)) == (4, CRASH, 1)


async def test_a_reboot_is_nobodys_crash():
    """The worker comes back without spending its budget."""
    async with stage({"a": READY}) as one:
        await one.start({"a": spec()}, rebooted=True)
        await one.reach(Phase.READY)
        assert one.supervisor.states["a"].restarts == ()


async def test_an_incarnation_that_the_store_missed_is_never_used_again():
    """The shim knows of a later life than the store: numbers go on from there."""
    async with stage({"a": READY}) as one:
        one.fakes.runner.found["a"] = Found(None, shim_alive=True, incarnation=7, last_exit=CRASH)
        await one.start({"a": spec()})
        await one.reach(Phase.READY)
        assert one.supervisor.states["a"].incarnation == 8


@pytest.mark.parametrize("phase", [Phase.STOPPED, Phase.FAILED])
async def test_what_was_stopped_or_had_failed_stays_so(phase):
    """An operator's stop outlives the daemon, and so does a spent budget."""
    state = WorkerState(phase=phase, wanted=phase is Phase.FAILED, incarnation=3, reason=Reason("operator", "by me"))
    async with stage({"a": state}) as one:
        await one.start({"a": spec()})
        assert (one.supervisor.states["a"], one.spawned()) == (state, [])


async def test_what_a_shutdown_stopped_starts_again():
    """Stopped and still wanted: the daemon went down, not the operator's wish."""
    state = WorkerState(phase=Phase.STOPPED, wanted=True, incarnation=3, reason=Reason("shutdown", "the daemon"))
    async with stage({"a": state}) as one:
        await one.start({"a": spec()})
        await one.reach(Phase.READY)
        assert one.supervisor.states["a"].incarnation == 4


async def test_one_that_cannot_be_adopted_does_not_keep_the_others_down():
    """It has failed, with the reason; the daemon runs and takes orders for the rest."""
    async with stage() as one:
        one.log.fail["adopt"] = UnavailableError("the shim speaks version 9")
        await one.start({"a": spec()})
        one.log.fail.clear()
        await one.supervisor.add_new("b", spec())
        await one.reach(Phase.READY, "b")
        state = one.supervisor.states["a"]
        assert (state.phase, state.reason.text) == (Phase.FAILED, "the shim speaks version 9")
        assert ("trouble", "a", "adopt") in one.log
        await one.supervisor.actor("a").decide(StopRequested(one.fakes.clock.now))


async def test_a_dependent_waits_until_what_it_requires_is_ready():
    """b is blocked with a's name in the reason, and is spawned after a is ready."""
    async with stage() as one:
        one.fakes.prober.auto = None
        await one.start({"b": spec(requires=("a",)), "a": spec()})
        await one.reach(Phase.BLOCKED, "b")
        assert "waits for a" in one.supervisor.states["b"].reason.text
        await one.log.until("probe")
        one.fakes.prober.auto = events_until_ready(one.fakes.clock)
        for event in one.fakes.prober.auto(life("a", 1)):
            await one.supervisor.actor("a").decide(event)
        one.retry()
        await one.reach(Phase.READY, "b")
        assert one.spawned() == ["a", "b"]


async def test_what_goes_down_for_good_takes_its_dependents_along():
    """b requires a: it is stopped, and waits for a; c only comes after a and is left alone."""
    async with stage() as one:
        await one.start({"a": spec(), "b": spec(autostart=False, requires=("a",)), "c": spec(after=("a",))})
        await one.reach(Phase.READY, "a")
        one.retry()
        await one.reach(Phase.READY, "b", "c")
        await one.supervisor.actor("a").decide(StopRequested(one.fakes.clock.now))
        await one.reach(Phase.BLOCKED, "b")
        assert ("terminate", "b", 1) in one.log
        assert ("terminate", "c", 1) not in one.log
        assert one.supervisor.states["b"].wanted


async def test_a_restart_of_what_is_required_does_not_take_dependents_along():
    """Only a death for good counts: a crash is mended sooner than a dependent could be stopped."""
    async with stage({"a": READY, "b": READY}) as one:
        one.alive("a", "b")
        await one.start({"a": spec(), "b": spec(requires=("a",))})
        one.fakes.runner.end("a", 3, CRASH)
        await one.log.until("born")
        await one.reach(Phase.READY, "a")
        assert one.supervisor.states["b"] == READY


async def test_a_shutdown_goes_in_waves_dependents_first():
    """Nothing is terminated while something that needs it lives."""
    names = ("a", "b", "c", "d")
    async with stage(dict.fromkeys(names, READY)) as one:
        one.alive(*names)
        await one.start({"a": spec(), "b": spec(after=("a",)), "c": spec(requires=("b",)), "d": spec(after=("a",))})
        await one.supervisor.shutdown()
        ended = [words[1] for words in one.log.named("terminate")]
        assert (ended[-1], ended.index("c") < ended.index("b")) == ("a", True)
        downs = [words for words in one.log if words[:1] == ("terminate",) or words[2:] == ("stopped",)]
        assert downs.index(("changed", "c", "stopped")) < downs.index(("terminate", "b", 3))


async def test_a_shutdown_keeps_the_wish_and_ends_every_shim():
    """The next daemon starts what this one stopped."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec(), "b": spec(autostart=False)})
        await one.supervisor.shutdown()
        stored = one.fakes.store.states["a"]
        assert (stored.phase, stored.wanted) == (Phase.STOPPED, True)
        assert not one.supervisor.states["b"].wanted
        assert {words[1] for words in one.log.named("release")} == {"a", "b"}


async def test_a_shutdown_is_not_held_up_by_a_shim_that_stays():
    """A tree stuck in the kernel keeps its shim; the daemon ends in order."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec(), "b": spec(autostart=False)})
        one.log.fail["release"] = ConflictError("it has processes")
        await one.supervisor.shutdown()
        assert {("trouble", "a", "release"), ("trouble", "b", "release")} <= set(one.log)


async def test_a_shutdown_of_the_blocked_and_the_failed_is_quick():
    """Nothing lives, so nothing is waited for; a failed one keeps its reason."""
    failed = WorkerState(phase=Phase.FAILED, wanted=True, incarnation=1, reason=Reason("budget-spent", "gave up"))
    async with stage({"a": failed}) as one:
        await one.start({"a": spec(), "b": spec(requires=("a",))})
        await one.reach(Phase.BLOCKED, "b")
        await one.supervisor.shutdown()
        assert one.supervisor.states["a"] == failed
        assert one.supervisor.states["b"].phase is Phase.STOPPED


async def test_detach_stops_nothing():
    """A daemon that goes without draining leaves its workers as they are, on disk as well."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec()})
        await one.supervisor.detach()
        assert one.log.named("terminate", "kill", "release") == []
        assert one.fakes.store.states["a"] == READY
        assert one.fakes.runner.life("a") is not None


async def test_a_removed_worker_is_stopped_released_and_forgotten():
    """In this order, and then its name is unknown."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec(), "b": spec(autostart=False)})
        await one.supervisor.remove("a")
        assert [words[0] for words in one.log.named("terminate", "release", "forget")] == [
            "terminate",
            "release",
            "forget",
        ]
        assert list(one.supervisor.specs) == ["b"]
        assert "a" not in one.fakes.store.states
        with pytest.raises(NotFoundError, match="no worker 'a'") as caught:
            one.supervisor.actor("a")
        assert caught.value.hint == "configured workers: b"


async def test_a_removed_worker_takes_no_orders_on_its_way_out():
    """A start that comes while it drains would keep it for ever."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        one.fakes.front.flying["a"] = 1
        await one.start({"a": spec()})
        leaving = asyncio.create_task(one.supervisor.remove("a"))
        await one.log.until("count")
        with pytest.raises(ConflictError, match="being removed"):
            one.supervisor.orderable("a")
        one.fakes.front.flying["a"] = 0
        await leaving


@pytest.mark.parametrize("what", ["release", "forget"])
async def test_a_removal_that_fails_halfway_frees_the_name_nevertheless(what):
    """What is stuck in the kernel is told of, and a worker of that name can be added again."""
    async with stage({"a": READY}) as one:
        one.alive("a")
        await one.start({"a": spec()})
        one.log.fail[what] = ConflictError("no")
        await one.supervisor.remove("a")
        assert ("trouble", "a", what) in one.log
        one.log.fail.clear()
        one.fakes.runner.found.clear()
        await one.supervisor.add_new("a", spec())
        await one.reach(Phase.READY, "a")
        assert one.supervisor.orderable("a").worker == "a"


async def test_an_order_that_a_removal_overtakes_is_refused_and_not_left_hanging():
    """The worker is gone before its actor gets to the order."""
    async with stage() as one:
        await one.start({"a": spec(autostart=False)})
        actor = one.supervisor.actor("a")
        await one.supervisor.remove("a")
        with pytest.raises(ConflictError):
            await actor.decide(StartRequested(one.fakes.clock.now))


async def test_a_removed_and_added_worker_begins_from_nothing():
    """A budget that an earlier worker of the name had spent is not the new one's."""
    failed = WorkerState(phase=Phase.FAILED, wanted=True, incarnation=6, restarts=(1.0,), reason=Reason("x", "gave up"))
    async with stage({"a": failed}) as one:
        await one.start({"a": spec()})
        await one.supervisor.remove("a")
        one.fakes.runner.found["a"] = Found(None, shim_alive=False, incarnation=6, last_exit=CRASH)
        await one.supervisor.add_new("a", spec())
        await one.reach(Phase.READY, "a")
        assert (one.supervisor.states["a"].incarnation, one.supervisor.states["a"].restarts) == (7, ())


async def test_changed_probes_ask_the_living_at_once():
    """Startup is behind a ready worker; what did not change is not asked anew."""
    async with stage({"a": READY, "b": READY}) as one:
        one.alive("a", "b")
        await one.start({"a": spec(), "b": spec()})
        one.supervisor.change("a", spec(probes={"liveness": []}), restart=False, text="")
        one.supervisor.change("b", spec(restart={"budget": 1}), restart=False, text="")
        assert [words[1:] for words in one.log.named("reprobe")] == [("a", True)]


async def test_a_changed_launch_setting_restarts_what_is_wanted_and_nothing_else():
    """Live settings apply at once; a stopped worker stays stopped."""
    stopped = WorkerState(phase=Phase.STOPPED, incarnation=3, reason=Reason("operator", "by me"))
    async with stage({"a": READY, "b": stopped, "c": READY}) as one:
        one.alive("a", "c")
        await one.start({"a": spec(), "b": spec(), "c": spec()})
        new = spec(restart={"budget": 1})
        for name, restart in (("a", True), ("b", True), ("c", False)):
            one.supervisor.change(name, new, restart=restart, text="its configuration changed: args")
        await one.log.until("born")
        await one.reach(Phase.READY, "a")
        assert [words[1:] for words in one.log.named("spawn")] == [("a", 4)]
        assert one.supervisor.states["b"] == stopped
        assert {actor.policy.budget for actor in one.supervisor.actors.values()} == {1}
        assert list(one.supervisor.specs.values()) == [new] * 3
        assert one.supervisor.states["a"].restarts == ()


async def test_the_order_is_that_of_the_configuration_with_leavers_last():
    """What status shows first is what the file has first."""
    async with stage() as one:
        await one.start({name: spec(autostart=False) for name in "abc"})
        one.supervisor.reorder(("c", "a"))
        assert list(one.supervisor.specs) == ["c", "a", "b"]


async def test_what_an_earlier_daemon_left_is_retired():
    """A worker that left the configuration while no daemon ran is adopted, stopped and forgotten."""
    async with stage({"old": READY}) as one:
        one.alive("old")
        await one.start({"a": spec(autostart=False)})
        await one.supervisor.retire("old")
        assert {("terminate", "old", 3), ("release", "old"), ("forget", "old")} <= set(one.log)
        assert list(one.supervisor.actors) == ["a"]


async def test_a_hundred_workers_start_and_stop():
    """Nothing in the way of one depends on the others."""
    async with stage() as one:
        await one.start({f"w{n}": spec() for n in range(100)})
        await one.reach(Phase.READY)
        await one.supervisor.shutdown()
        assert {state.phase for state in one.supervisor.states.values()} == {Phase.STOPPED}
        assert len(one.spawned()) == 100


def test_a_policy_is_made_of_the_numbers_of_the_spec():
    """Seconds and counts as written."""
    made = policy_of(
        spec(
            start={"deadline": "5m", "cap": "1h"},
            stop={"drain": "7s", "grace": "3s"},
            restart={"budget": 2, "window": "1m", "backoff": {"initial": "2s", "factor": 3, "max": "9s"}},
        )
    )
    assert (made.start_deadline, made.start_cap, made.drain, made.grace) == (300, 3600, 7, 3)
    assert (made.budget, made.window) == (2, 60)
    assert (made.backoff_initial, made.backoff_factor, made.backoff_max) == (2, 3, 9)


async def test_who_is_told_to_hurry_drains_nobody_any_more():
    """Those that drain are stopped at once, and so are those whose turn comes later; the wish is kept."""
    async with stage({"a": READY, "b": READY}) as one:
        one.alive("a", "b")
        one.fakes.front.flying = {"a": 1, "b": 1}
        await one.start({"a": spec(), "b": spec(after=("a",))})
        ending = asyncio.create_task(one.supervisor.shutdown())
        await one.log.until("count")
        one.supervisor.hurry()
        await ending
        assert [words[1] for words in one.log.named("terminate")] == ["b", "a"]
        assert {words[1] for words in one.log.named("count")} == {"b"}
        assert all(state.wanted for state in one.fakes.store.states.values())
