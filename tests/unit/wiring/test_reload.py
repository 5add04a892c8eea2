"""Applying a new configuration: only what differs is touched, and everything that comes at the same time."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path

import pytest

from genesisd.config import diff
from genesisd.config.paths import Paths
from genesisd.config.root import Config, DaemonSpec
from genesisd.errors import ConflictError
from genesisd.supervisor.model import Phase
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.telemetry.metrics import Metrics
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.reload import Reloader
from tests.fakes.supervision import SECONDS, Fakes, FakeSink, events_until_ready
from tests.fakes.wiring import FakeFronts

PATHS = Paths(Path("/s"), Path("/r"), Path("/c"), Path("/r/control.sock"))


def spec(**fields):
    return WorkerSpec(command=("vllm",), **fields)


def config(**workers):
    return Config(Path("/g.yaml"), DaemonSpec(), PATHS, None, workers)


class Box:
    def __init__(self):
        self.fakes = Fakes()
        self.log = self.fakes.log
        self.fakes.prober.auto = events_until_ready(self.fakes.clock)
        self.supervisor = Supervisor(lambda supervisor: self.fakes.ports())
        self.fakes.watcher.follow = self.supervisor.follow
        self.fronts, self.sink = FakeFronts(), FakeSink()
        metrics = Metrics(self.fakes.clock)
        self.reloader = Reloader(self.supervisor, FrontAdapter(self.fronts), metrics, self.sink)
        self.current = config()

    async def apply(self, **workers):
        """As the daemon does, one at a time."""
        new = config(**workers)
        difference = diff(self.current, new)
        self.current = new
        view = await self.reloader.apply(new, difference)
        assert tuple(self.supervisor.specs)[: len(workers)] == tuple(workers)
        return view

    async def ready(self, *names):
        for name in names:
            await self.supervisor.actor(name).until(frozenset({Phase.READY}))


@contextlib.asynccontextmanager
async def box(**workers):
    one = Box()
    async with asyncio.timeout(SECONDS):
        await one.apply(**workers)
        await one.ready(*workers)
        one.log.clear()
        yield one
        one.fakes.front.flying.clear()
        await one.reloader.close()
    await one.supervisor.detach()


async def test_nothing_changed_touches_nothing():
    """A reload for the sake of it is free."""
    async with box(a=spec(), b=spec()) as one:
        view = await one.apply(a=spec(), b=spec())
        assert (view.added, view.removed, view.changed, view.unchanged) == ((), (), (), ("a", "b"))
        assert one.log == []


async def test_only_what_changed_is_touched():
    """One added, one removed, one restarted, one changed as it runs, one left alone."""
    async with box(a=spec(), b=spec(), c=spec(), d=spec()) as one:
        view = await one.apply(
            a=spec(), b=spec(env={"X": "1"}), c=spec(stop={"drain": "1s"}), e=spec(listen="127.0.0.1:80")
        )
        assert (view.added, view.removed, view.unchanged) == (("e",), ("d",), ("a",))
        assert (view.changed, view.restarted) == (("b", "c"), ("b",))
        await one.reloader.close()
        await one.ready("b", "e")
        await one.log.until("born", 2)
        assert {words[1] for words in one.log.named("spawn", "terminate")} == {"b", "d", "e"}
        assert one.supervisor.actor("c").policy.drain == 1.0
        assert ("ensure", "e", "127.0.0.1:80", 30.0, 512) in one.fronts.told
        assert ("release", "d") in one.fronts.told


async def test_a_removal_is_not_waited_for():
    """The answer comes while the worker drains; it is shown last until it is gone."""
    async with box(a=spec(), b=spec()) as one:
        one.fakes.front.flying["a"] = 1
        view = await one.apply(b=spec())
        assert view.removed == ("a",)
        assert list(one.supervisor.specs) == ["b", "a"]
        assert "worker_removed" not in one.sink.kinds
        one.fakes.front.flying.clear()
        await one.reloader.close()
        assert list(one.supervisor.specs) == ["b"]
        assert one.sink.events[-1] == ("worker_removed", "a", {})


async def test_a_worker_that_comes_back_while_it_leaves_is_a_new_one():
    """The old one goes to its end first: two never live beside one another."""
    async with box(a=spec()) as one:
        one.fakes.front.flying["a"] = 1
        await one.apply()
        adding = asyncio.create_task(one.apply(a=spec(env={"NEW": "1"})))
        await one.log.until("count", 3)
        assert not adding.done()
        one.fakes.front.flying.clear()
        view = await adding
        await one.ready("a")
        assert view.added == ("a",)
        order = [words[0] for words in one.log.named("terminate", "release", "forget", "adopt", "spawn")]
        assert order == ["terminate", "release", "forget", "adopt", "spawn"]
        assert one.supervisor.specs["a"].env == {"NEW": "1"}


async def test_there_and_back_again_many_times():
    """Each time a whole removal and a whole start."""
    async with box(a=spec()) as one:
        for n in range(10):
            await one.apply()
            await one.apply(a=spec(env={"N": str(n)}))
        await one.ready("a")
        assert one.supervisor.specs["a"].env == {"N": "9"}
        assert len(one.log.named("release")) == 10
        assert one.fakes.watcher.troubles == []


async def test_a_reload_that_is_given_up_does_not_cut_a_removal_short():
    """Whoever asked went away while it waited for the old worker to leave."""
    async with box(a=spec()) as one:
        one.fakes.front.flying["a"] = 1
        await one.apply()
        adding = asyncio.create_task(one.apply(a=spec()))
        await one.log.until("count", 2)
        adding.cancel()
        await asyncio.gather(adding, return_exceptions=True)
        one.fakes.front.flying.clear()
        await one.reloader.close()
        assert ("forget", "a") in one.log
        assert "a" not in one.supervisor.specs


async def test_a_front_that_cannot_be_had_does_not_stop_the_reload():
    """Its worker is blocked with the reason; the others are applied."""
    async with box() as one:
        one.fronts.taken.add("127.0.0.1:80")
        await one.apply(a=spec(listen="127.0.0.1:80", autostart=False), b=spec())
        await one.ready("b")
        (trouble,) = one.sink.of("effect_failed")
        assert (trouble["effect"], trouble["text"]) == ("front", "127.0.0.1:80 is taken by pid 7")
        assert list(one.supervisor.specs) == ["a", "b"]


async def test_a_removal_that_fails_does_not_block_the_name():
    """The shim refuses to go; a worker of that name can be added nevertheless."""
    async with box(a=spec()) as one:
        one.log.fail["release"] = ConflictError("it has processes")
        await one.apply()
        await one.apply(a=spec())
        await one.ready("a")


async def test_a_worker_that_was_stopped_stays_so_through_changes():
    """A reload is nobody's word to start."""
    from genesisd.supervisor.model import StopRequested

    async with box(a=spec()) as one:
        await one.supervisor.actor("a").decide(StopRequested(one.fakes.clock.now, drain=False))
        await one.supervisor.actor("a").until(frozenset({Phase.STOPPED}))
        await one.apply(a=spec(env={"X": "1"}))
        assert one.supervisor.states["a"].phase is Phase.STOPPED
        assert one.log.named("spawn") == []


async def test_a_hundred_workers():
    """All changed at once, then all replaced."""
    async with box(**{f"w{n}": spec() for n in range(100)}) as one:
        names = [f"w{n}" for n in range(100)]
        view = await one.apply(**{name: spec(env={"X": "1"}) for name in names})
        assert len(view.restarted) == 100
        await one.log.until("born", 100)
        await one.ready(*names)
        view = await one.apply(**{f"v{n}": spec() for n in range(100)})
        assert (len(view.added), len(view.removed)) == (100, 100)
        await one.reloader.close()
        await one.ready(*(f"v{n}" for n in range(100)))
        assert len(one.supervisor.actors) == 100


async def test_settings_that_need_another_daemon_are_named():
    """They are not forgotten in silence."""
    async with box() as one:
        new = Config(Path("/g.yaml"), DaemonSpec(metrics={"listen": "127.0.0.1:1"}), PATHS, None, {})
        view = await one.reloader.apply(new, diff(one.current, new))
        assert view.warnings == ("daemon.metrics.listen takes effect when the daemon is restarted",)


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "b", "a")])
async def test_the_order_of_the_file_is_followed(order):
    """Status shows it."""
    async with box(a=spec(), b=spec(), c=spec()) as one:
        await one.apply(**{name: spec() for name in order})
        assert tuple(one.supervisor.specs) == order


async def test_what_an_earlier_daemon_left_is_ended_with_its_front():
    """And a worker that is added under its name waits for that."""
    async with box() as one:
        one.fronts.left_over.add("old")
        one.reloader.retire("old")
        await one.apply(old=spec())
        await one.ready("old")
        assert one.fronts.told[-1] == ("release", "old")
        order = [words[0] for words in one.log.named("release", "forget", "adopt", "spawn")]
        assert order == ["adopt", "release", "forget", "adopt", "spawn"]


async def test_a_front_that_is_switched_off_is_not_torn_away_from_what_runs_through_it():
    """The worker drains first; its gate ends the front before the next life. One that is down loses it at once."""
    public, bare = {"listen": "127.0.0.1:80"}, {"listen": "127.0.0.1:80", "front": {"enabled": False}}
    async with box(a=spec(**public)) as one:
        one.fakes.front.flying["a"] = 1
        await one.apply(a=spec(**bare))
        await one.log.until("count")
        assert ("release", "a") not in one.fronts.told
        one.fakes.front.flying.clear()
        await one.log.until("born")
        await one.ready("a")
        await one.apply(a=spec(**bare), b=spec(autostart=False, listen="127.0.0.1:81"))
        await one.apply(a=spec(**bare), b=spec(autostart=False))
        assert ("release", "b") in one.fronts.told
