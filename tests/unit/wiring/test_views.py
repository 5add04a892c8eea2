"""What status shows of a worker, and that it is the same object while nothing changed."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from genesisd.control.views import BuildView, ProbeView
from genesisd.errors import NotFoundError
from genesisd.supervisor.model import ExitRecord, Phase, Reason, WorkerState
from genesisd.supervisor.ports import Found, FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.supervisor.supervisor import Supervisor
from genesisd.wiring.fronts import FrontAdapter
from genesisd.wiring.views import Sources, Views
from tests.fakes.supervision import SECONDS, Fakes, life
from tests.fakes.wiring import FakeFronts

READY = WorkerState(phase=Phase.READY, wanted=True, incarnation=3, since=900.0, reason=Reason("ready", "serving"))


def spec(**fields):
    return WorkerSpec(command=("vllm",), **fields)


BUILD = BuildView("b", "attested", "every process runs the build", 3)


@contextlib.asynccontextmanager
async def views_of(specs, states=None):
    fakes = Fakes(states or {})
    supervisor = Supervisor(lambda supervisor: fakes.ports())
    for name, state in (states or {}).items():
        if state.phase is Phase.READY:
            one = life(name, state.incarnation)
            fakes.runner.found[name] = Found(one, shim_alive=True, incarnation=state.incarnation, last_exit=None)
    fronts, probes, shims, builds = FrontAdapter(FakeFronts()), {}, {}, {("w", 3): BUILD}
    async with asyncio.timeout(SECONDS):
        await supervisor.start(specs, rebooted=False)
        sources = Sources(
            supervisor=supervisor,
            runner=fakes.runner,
            fronts=fronts,
            probes=lambda name: probes.get(name, ()),
            adopted=supervisor.was_adopted,
            shim_pid=shims.get,
            build=lambda name, incarnation: builds.get((name, incarnation)),
            clock=fakes.clock,
        )
        yield Views(sources), fakes, supervisor, fronts, probes, shims
    await supervisor.detach()


async def test_a_ready_worker_is_shown_with_all_that_is_known():
    """State, identity, budget, probes, front."""
    one = spec(listen="127.0.0.1:8000", restart={"budget": 2, "window": "1m"})
    async with views_of({"w": one}, {"w": READY}) as (views, fakes, _, fronts, probes, shims):
        probes["w"] = (ProbeView("liveness", "process", "success", "3 processes", 999.0),)
        shims["w"] = 44
        fronts.latest["w"] = FrontStats(open=2)
        view = views.worker("w")
        assert view.build is BUILD
        assert (view.phase, view.wanted, view.incarnation, view.pid, view.shim_pid) == (Phase.READY, True, 3, 4003, 44)
        assert (view.url, view.front, view.probes) == ("http://127.0.0.1:8000", FrontStats(open=2), probes["w"])
        assert (view.restarts.budget, view.restarts.window, view.restarts.in_window) == (2, 60.0, 0)
        assert (view.ready_since, view.since, view.adopted) == (900.0, 900.0, True)
        assert view.since_wall == fakes.clock.wall() - 100.0


async def test_the_same_object_is_handed_out_while_nothing_changed():
    """So that the server need not write it anew; each source counts as a change."""
    async with views_of({"w": spec()}, {"w": READY}) as (views, _, _, fronts, probes, shims):
        first = views.worker("w")
        assert views.worker("w") is first
        assert views.workers()[0] is first
        seen = [first]
        for change in (
            lambda: fronts.latest.update(w=FrontStats(open=1)),
            lambda: probes.update(w=(ProbeView("liveness", "process", "success", "1", 1.0),)),
            lambda: shims.update(w=9),
        ):
            change()
            assert views.worker("w") is not seen[-1]
            seen.append(views.worker("w"))
        views.forget("w")
        assert views.worker("w") is not seen[-1]


async def test_restarts_leave_the_window_by_the_mere_passing_of_time():
    """A view may change although nothing happened."""
    crash = ExitRecord(1, None)
    state = WorkerState(
        phase=Phase.FAILED, incarnation=3, restarts=(990.0, 995.0), last_exit=crash, reason=Reason("x", "y")
    )
    one = spec(restart={"window": "20s"})
    async with views_of({"w": one}, {"w": state}) as (views, fakes, *_):
        assert (views.worker("w").restarts.in_window, views.worker("w").last_exit) == (2, crash)
        fakes.clock.now += 12
        assert views.worker("w").restarts.in_window == 1


@pytest.mark.parametrize(
    ("fields", "url"),
    [
        ({"listen": "127.0.0.1:80"}, "http://127.0.0.1:80"),
        ({"listen": "[::1]:80"}, "http://[::1]:80"),
        ({"listen": "[::1]:80", "front": {"enabled": False}}, "http://[::1]:80"),
        ({"engine_port": 9000}, "http://127.0.0.1:9000"),
        ({}, None),
    ],
)
async def test_the_address_of_a_worker_that_is_down(fields, url):
    """The public one, else the engine's own where it is known."""
    async with views_of({"w": spec(autostart=False, **fields)}) as (views, *_):
        view = views.worker("w")
        assert (view.url, view.pid, view.ready_since) == (url, None, None)


async def test_the_address_of_a_life_is_where_it_listens():
    """A freely chosen port is known while it lives."""
    async with views_of({"w": spec()}, {"w": READY}) as (views, *_):
        assert views.worker("w").url == "http://127.0.0.1:20000"


async def test_an_unknown_worker_is_not_found():
    """With the known ones as a hint."""
    async with views_of({"w": spec(autostart=False)}) as (views, *_):
        with pytest.raises(NotFoundError) as caught:
            views.worker("v")
        assert caught.value.hint == "configured workers: w"


async def test_workers_come_in_the_order_of_the_configuration():
    """And those that were removed are gone."""
    async with views_of({name: spec(autostart=False) for name in "cab"}) as (views, _, supervisor, *_):
        assert [view.name for view in views.workers()] == ["c", "a", "b"]
        await supervisor.remove("a")
        assert [view.name for view in views.workers()] == ["c", "b"]
