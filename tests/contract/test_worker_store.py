"""What every store of workers promises to supervision: SQLite's table, and the fake that unit tests use."""

from __future__ import annotations

import asyncio

import pytest

from genesisd.store.store import Store
from genesisd.supervisor.model import ExitRecord, Next, Phase, Reason, WorkerState
from tests.fakes.supervision import FakeClock, FakeStore, Log

FULL = WorkerState(
    phase=Phase.STOPPING,
    wanted=True,
    incarnation=7,
    checking=False,
    since=990.5,
    deadline=1010.25,
    started=900.0,
    next=Next.RETRY,
    reason=Reason("hung", "no step for 10 s \N{EM DASH} \N{GRINNING FACE}"),
    restarts=(100.0, 200.5),
    killed=True,
    shim_lost=True,
    last_exit=ExitRecord(1, None, "bad-config", "no such model", permanent=True),
)


class Sqlite:
    """The table in a file, reopened as the next daemon does."""

    def __init__(self, folder):
        self._path = folder / "genesisd.db"
        self._clock = FakeClock()
        self._open: Store | None = None

    def open(self):
        self.close()
        self._open = Store.open(self._path, self._clock)
        return self._open.workers

    def close(self):
        if self._open is not None:
            self._open.close()
            self._open = None


class Memory:
    """The fake; the next one begins with what the last one had."""

    def __init__(self, folder):
        self._last = FakeStore()

    def open(self):
        self._last = FakeStore(Log(), self._last.states)
        return self._last

    def close(self):
        pass


@pytest.fixture(params=[Sqlite, Memory], ids=["sqlite", "memory"])
async def place(request, tmp_path):
    place = request.param(tmp_path)
    yield place
    place.close()


async def test_an_empty_store_knows_nobody(place):
    """The first start of all."""
    assert place.open().load() == {}


async def test_what_was_saved_is_there_after_a_restart(place):
    """Every field, to the last digit."""
    await place.open().save("w", FULL)
    assert place.open().load() == {"w": FULL}


async def test_defaults_survive_as_well(place):
    """None, empty and zero are values."""
    await place.open().save("w", WorkerState())
    assert place.open().load() == {"w": WorkerState()}


@pytest.mark.parametrize("phase", list(Phase))
async def test_every_phase_can_be_kept(place, phase):
    """Whatever a daemon dies in."""
    state = WorkerState(phase=phase, wanted=True, incarnation=2)
    await place.open().save("w", state)
    assert place.open().load()["w"].phase is phase


async def test_the_newest_state_counts(place):
    """A hundred saves, one row."""
    store = place.open()
    for n in range(100):
        await store.save("w", WorkerState(incarnation=n))
    assert place.open().load() == {"w": WorkerState(incarnation=99)}


async def test_workers_are_kept_apart(place):
    """Saved at the same moment by different actors."""
    store = place.open()
    states = {f"w{n}": WorkerState(incarnation=n) for n in range(20)}
    await asyncio.gather(*(store.save(name, state) for name, state in states.items()))
    assert place.open().load() == states


async def test_the_forgotten_are_gone_and_the_others_stay(place):
    """Forgetting twice, or the unknown, is no error."""
    store = place.open()
    await store.save("a", WorkerState(incarnation=1))
    await store.save("b", WorkerState(incarnation=2))
    await store.forget("a")
    await store.forget("a")
    await store.forget("never")
    assert place.open().load() == {"b": WorkerState(incarnation=2)}


async def test_a_worker_can_come_back_after_it_was_forgotten(place):
    """Removed and added under the same name."""
    store = place.open()
    await store.save("w", FULL)
    await store.forget("w")
    await store.save("w", WorkerState(incarnation=1))
    assert place.open().load() == {"w": WorkerState(incarnation=1)}


async def test_load_tells_what_was_there_at_the_opening(place):
    """Its answer is the caller's own, and changes neither with saves nor by the caller's hand."""
    await place.open().save("w", FULL)
    store = place.open()
    loaded = store.load()
    loaded.clear()
    await store.save("w", WorkerState())
    assert store.load() == {"w": FULL}


async def test_saves_of_one_worker_keep_their_order(place):
    """Also when nobody waits for the first before the second is given."""
    store = place.open()
    await asyncio.gather(*(store.save("w", WorkerState(incarnation=n)) for n in range(50)))
    assert place.open().load()["w"].incarnation == 49


async def test_text_that_is_no_text_does_not_lose_the_state(place):
    """A worker's last words may hold half a character."""
    await place.open().save("w", WorkerState(incarnation=3, reason=Reason("crash", "bad \udcff byte")))
    assert place.open().load()["w"].incarnation == 3
