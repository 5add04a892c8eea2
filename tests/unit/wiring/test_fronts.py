"""Fronts for those who want one, and what is in flight."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web

from genesisd.front.channel import RefusedError
from genesisd.supervisor.ports import FrontStats
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.fronts import FrontAdapter, wants_front
from genesisd.wiring.in_flight import FrontOrLoad
from tests.fakes.supervision import FakeClock, FakeRunner, Log, life
from tests.fakes.wiring import FakeFronts, counts, engine

PUBLIC = WorkerSpec(command=("vllm",), listen="127.0.0.1:80", front={"hold": "5s", "max_held": 9})
PRIVATE = WorkerSpec(command=("vllm",))
BARE = WorkerSpec(command=("vllm",), listen="127.0.0.1:80", front={"enabled": False})


@pytest.fixture
def fronts():
    return FakeFronts()


def test_who_wants_a_front():
    """An address, and not switched off."""
    assert [wants_front(spec) for spec in (PUBLIC, PRIVATE, BARE)] == [True, False, False]


async def test_a_seat_is_kept_as_the_spec_wants_it(fronts):
    """Seating again is how a changed setting reaches the front."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PUBLIC)
    assert fronts.told == [("ensure", "w", "127.0.0.1:80", 5.0, 9)]


async def test_a_front_that_is_wanted_no_more_is_ended(fronts):
    """Switched off by a reload: its port is the engine's now."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PUBLIC)
    await adapter.seat("w", BARE)
    await adapter.open("w", "127.0.0.1", 1, 1)
    assert fronts.told[-1] == ("release", "w")


async def test_orders_for_a_worker_without_a_front_mean_nothing(fronts):
    """Neither an error nor a front."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PRIVATE)
    fronts.told.clear()
    await adapter.open("w", "127.0.0.1", 1, 1)
    await adapter.hold("w")
    await adapter.close("w", "down")
    assert (fronts.told, await adapter.stats("w"), await adapter.in_flight("w", 1)) == ([], None, None)


async def test_orders_reach_a_seated_front(fronts):
    """In order and with their words."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PUBLIC)
    await adapter.hold("w")
    await adapter.open("w", "127.0.0.1", 20000, 3)
    await adapter.close("w", "stopped")
    assert fronts.told[1:] == [("hold", "w"), ("open", "w", "127.0.0.1", 20000, 3), ("close", "w", "stopped")]


async def test_a_taken_address_is_raised_and_not_seated(fronts):
    """The gate shows it; orders go nowhere meanwhile."""
    fronts.taken.add("127.0.0.1:80")
    adapter = FrontAdapter(fronts)
    with pytest.raises(RefusedError, match="taken by pid 7"):
        await adapter.seat("w", PUBLIC)
    await adapter.hold("w")
    assert fronts.told == []


async def test_the_newest_counts_are_remembered(fronts):
    """Fields that this daemon does not know are left out, those that the front does not know are 0."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PUBLIC)
    fronts.counts["w"] = counts(open=3, in_flight=2, of_tomorrow=1)
    await adapter.refresh()
    assert adapter.latest == {"w": FrontStats(open=3, in_flight=2)}
    fronts.counts.clear()
    await adapter.refresh()
    assert adapter.latest == {"w": None}


async def test_counts_that_come_after_the_end_are_not_remembered(fronts):
    """A worker that is added again under the name does not begin with the numbers of the old one."""
    adapter = FrontAdapter(fronts)
    await adapter.seat("w", PUBLIC)
    answer = asyncio.get_running_loop().create_future()
    fronts.stats = lambda worker: answer
    asking = asyncio.create_task(adapter.stats("w"))
    await asyncio.sleep(0)
    await adapter.unseat("w")
    answer.set_result(counts(open=3))
    await asking
    assert adapter.latest == {}


# --- in flight ------------------------------------------------------------------------------------------------


async def count(fronts, routes, *, host="127.0.0.1", seated=True):
    adapter = FrontAdapter(fronts)
    if seated:
        await adapter.seat("w", PUBLIC)
    async with engine(routes, host) as (port, session):
        runner = FakeRunner(Log(), FakeClock())
        runner.lives["w"] = life("w", 1, port, host)
        return await FrontOrLoad(adapter, runner, session).count("w", 1)


def load(text, status=200):
    async def answer(request):
        return web.Response(text=text, status=status)

    return {"/load": answer}


@pytest.mark.parametrize(("front", "engine_load", "count_"), [(2, 5, 5), (5, 2, 5), (0, 0, 0), (None, 3, 3)])
async def test_the_larger_count_is_the_truth(fronts, front, engine_load, count_):
    """Requests may reach the engine beside the front, and wait in the front before the engine."""
    fronts.by_incarnation["w"] = front
    assert await count(fronts, load(f'{{"server_load": {engine_load}}}')) == count_


@pytest.mark.parametrize(
    "routes",
    [{}, load("nope"), load("[1]"), load('{"server_load": "3"}'), load("{}"), load('{"server_load": 9}', 500)],
    ids=["404", "text", "list", "string", "empty", "500"],
)
async def test_an_engine_that_does_not_tell_counts_as_nothing(fronts, routes):
    """An older vLLM, or one that is broken: the front's count stands."""
    fronts.by_incarnation["w"] = 2
    assert await count(fronts, routes) == 2
    assert await count(fronts, routes, seated=False) == 0


async def test_an_engine_that_is_gone_counts_as_nothing(fronts):
    """No life, or nobody at the port."""
    async with engine({}) as (port, session):
        runner = FakeRunner(Log(), FakeClock())
        counter = FrontOrLoad(FrontAdapter(fronts), runner, session)
        assert await counter.count("w", 1) == 0
        runner.lives["w"] = life("w", 1, 1)
        assert await counter.count("w", 1) == 0
        assert port


async def test_an_engine_on_ipv6_is_asked(fronts):
    """Its address needs brackets."""
    try:
        assert await count(fronts, load('{"server_load": 4}'), host="::1", seated=False) == 4
    except OSError:
        pytest.skip("no IPv6 here")
