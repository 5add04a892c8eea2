"""Past and present events as one stream."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from genesisd.store.store import Store
from genesisd.telemetry.metrics import Metrics
from genesisd.telemetry.sink import Sink
from genesisd.wiring.history import History
from tests.fakes.supervision import SECONDS, FakeClock


class Box:
    def __init__(self, store, clock):
        self.store, self.clock = store, clock
        self.sink = Sink(Metrics(clock), store.journal, clock)
        self.history = History(store.journal, self.sink)

    def tell(self, *numbers, worker="w"):
        for n in numbers:
            self.clock.now += 1
            self.sink.emit("order", worker, verb=n, incarnation=n)

    def read(self, since=None, *, follow=False, worker=None):
        return self.history.read(since, follow=follow, worker=worker)

    async def all(self, since=None, worker=None):
        return [event.fields["verb"] async for event in self.read(since, worker=worker)]


@pytest.fixture
async def box(tmp_path):
    clock = FakeClock()
    store = Store.open(tmp_path / "g.db", clock)
    yield Box(store, clock)
    store.close()


@contextlib.asynccontextmanager
async def follow(box, since=None, worker=None):
    async with asyncio.timeout(SECONDS), contextlib.aclosing(box.read(since, follow=True, worker=worker)) as stream:
        yield stream


async def take(stream, count):
    return [(await anext(stream)).fields["verb"] for _ in range(count)]


async def test_the_past_without_following(box):
    """Oldest first, then the end."""
    box.tell(1, 2, 3)
    assert await box.all() == [1, 2, 3]


async def test_an_empty_history_ends(box):
    """Nothing happened yet."""
    assert await box.all() == []


async def test_events_before_the_asked_time_are_left_out(box):
    """``since`` is wall time."""
    box.tell(1, 2)
    middle = box.clock.wall() + 0.5
    box.tell(3)
    assert await box.all(middle) == [3]
    assert await box.all(0.0) == [1, 2, 3]


async def test_following_alone_shows_nothing_of_the_past(box):
    """From now on."""
    box.tell(1)
    async with follow(box) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        box.tell(2)
        assert (await waiting).fields["verb"] == 2


async def test_between_past_and_present_is_neither_a_gap_nor_a_repetition(box):
    """Events that come at any moment of the switch are told once each."""
    box.tell(*range(50))
    async with follow(box, 0.0) as stream:
        first = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        box.tell(*range(50, 60))  # while the journal is being asked
        got = [(await first).fields["verb"], *await take(stream, 30)]
        box.tell(*range(60, 70))  # while the past is still being handed out
        got += await take(stream, 39)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        box.tell(70)
        got.append((await waiting).fields["verb"])
    assert got == list(range(71))


async def test_ids_only_grow(box):
    """A reader that comes again can tell what it has seen."""
    box.tell(1, 2)
    async with follow(box, 0.0) as stream:
        seen = [(await anext(stream)).seq for _ in range(2)]
        box.tell(3)
        seen.append((await anext(stream)).seq)
    assert seen == sorted(set(seen))


async def test_one_worker_alone(box):
    """Past and present of the others, and of the daemon, are left out."""
    box.tell(1, worker="a")
    box.tell(2, worker="b")
    box.tell(3, worker=None)
    assert await box.all(worker="a") == [1]
    async with follow(box, 0.0, worker="b") as stream:
        assert await take(stream, 1) == [2]
        box.tell(4, worker="a")
        box.tell(5, worker="b")
        assert await take(stream, 1) == [5]


async def test_events_that_are_not_kept_are_not_told(box):
    """Each probe's each answer would drown the rest."""
    async with follow(box) as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        box.sink.emit("probe_result", "w", verdict="success")
        box.tell(1)
        assert (await waiting).kind == "order"


async def test_a_reader_that_is_too_slow_is_told_what_it_missed(box):
    """A mark with the count, also for a reader of one worker."""
    async with follow(box, worker="w") as stream:
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        box.tell(*range(1100))
        mark = await waiting
        assert (mark.kind, mark.fields["count"]) == ("dropped", 76)
        assert await take(stream, 1) == [76]


async def test_the_incarnation_is_a_field(box):
    """From the journal and live alike."""
    box.tell(7)
    async with follow(box, 0.0) as stream:
        past = await anext(stream)
        box.tell(8)
        live = await anext(stream)
    assert [one.fields["incarnation"] for one in (past, live)] == [7, 8]
    assert (past.worker, past.kind) == ("w", "order")


async def test_a_reader_that_goes_is_no_listener_any_more(box):
    """Hundreds of readers that came and went cost nothing."""
    async with follow(box, 0.0) as stream:
        box.tell(1)
        await anext(stream)
    assert box.sink._listeners == []
