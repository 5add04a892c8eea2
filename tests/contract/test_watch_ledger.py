"""What every ledger of sweeps promises to the schedule: SQLite's table, and the one in memory that unit tests use."""

from __future__ import annotations

import pytest

from genesisd.store.store import Store
from tests.helpers.memory_ledger import MemoryLedger

LEASE = 180.0


class Sqlite:
    """The table in a file, reopened as the next daemon does."""

    def __init__(self, folder):
        self._path = folder / "genesisd.db"
        self._open: Store | None = None

    def open(self):
        self.close()
        self._open = Store.open(self._path)
        ledger = getattr(self._open, "watch_ledger", None)
        if ledger is None:
            self.close()
            pytest.skip("this store keeps no sweeps")
        return ledger

    def close(self):
        if self._open is not None:
            self._open.close()
            self._open = None


class Memory:
    """The double; the next one begins with what the last one had."""

    def __init__(self, folder):
        self._last = MemoryLedger()

    def open(self):
        self._last = MemoryLedger(self._last.rows)
        return self._last

    def close(self):
        pass


@pytest.fixture(params=[Sqlite, Memory], ids=["sqlite", "memory"])
async def place(request, tmp_path):
    place = request.param(tmp_path)
    yield place
    place.close()


@pytest.fixture
def ledger(place):
    return place.open()


async def begin(ledger, window="2026-10-25", owner="a", now=1000.0, kind="nightly"):
    return await ledger.begin(kind, window, owner, now, lease=LEASE)


async def finish(ledger, sweep, now=1030.0, outcome="done", **summary):
    await ledger.finish(sweep, now, outcome=outcome, summary=summary)


async def test_an_empty_ledger(ledger):
    """The first start of all: nothing was done, everything can be claimed."""
    assert await ledger.last("nightly") is None
    assert isinstance(await begin(ledger), int)


@pytest.mark.parametrize("outcome", ["done", "partial"])
async def test_what_was_done_is_never_claimed_again(ledger, outcome):
    """By nobody, at no time, not even by a clock that went back."""
    await finish(ledger, await begin(ledger), outcome=outcome, rows=113, nested={"a": [1, None]})
    for owner, now in (("a", 1031.0), ("b", 1e12), ("b", 0.0)):
        assert await begin(ledger, owner=owner, now=now) is None
    assert await ledger.last("nightly") == ("2026-10-25", 1030.0)


async def test_what_failed_is_claimed_again_at_once(ledger):
    """Under another id: ids tell attempts apart."""
    first = await begin(ledger)
    await finish(ledger, first, outcome="failed", text="no disk")
    assert await ledger.last("nightly") is None
    second = await begin(ledger, owner="b", now=1031.0)
    assert second is not None
    assert second != first


async def test_a_lease_keeps_others_out_until_it_ends(ledger):
    """A daemon that was killed while it swept delays the next by its lease and no more."""
    first = await begin(ledger)
    assert await begin(ledger, owner="b", now=1000.0 + LEASE - 1) is None
    assert await ledger.renew(first, 1100.0, lease=LEASE)
    assert await begin(ledger, owner="b", now=1100.0 + LEASE - 1) is None
    assert await begin(ledger, owner="b", now=1100.0 + LEASE + 1) not in {None, first}


async def test_a_lease_from_a_clock_that_was_ahead_holds_nobody_out(ledger):
    """It would hold for years; a lease never ends further off than leases last."""
    ahead = await begin(ledger, now=2e9)
    assert await begin(ledger, owner="b", now=1000.0) not in {None, ahead}


async def test_whoever_lost_a_window_is_told_and_cannot_close_it(ledger):
    """What it brings late counts for nothing, whether the other is still at it or through."""
    lost = await begin(ledger)
    taken = await begin(ledger, owner="b", now=1000.0 + LEASE + 1)
    assert not await ledger.renew(lost, 1200.0, lease=LEASE)
    await finish(ledger, lost, now=1201.0)
    assert await ledger.last("nightly") is None
    assert await ledger.renew(taken, 1202.0, lease=LEASE)
    assert await begin(ledger, owner="c", now=1203.0) is None
    await finish(ledger, taken, now=1204.0)
    assert await ledger.last("nightly") == ("2026-10-25", 1204.0)
    assert not await ledger.renew(lost, 1205.0, lease=LEASE)


async def test_a_lease_that_ran_out_is_renewed_where_nobody_took_it(ledger):
    """A machine that slept goes on with its sweep."""
    sweep = await begin(ledger)
    assert await ledger.renew(sweep, 1000.0 + 10 * LEASE, lease=LEASE)
    assert await begin(ledger, owner="b", now=1000.0 + 10 * LEASE + 1) is None


async def test_what_is_over_is_not_held(ledger):
    """Neither a sweep that was done nor one that failed."""
    done, failed = await begin(ledger, "2026-10-24"), await begin(ledger)
    await finish(ledger, done)
    await finish(ledger, failed, outcome="failed")
    assert not await ledger.renew(done, 1031.0, lease=LEASE)
    assert not await ledger.renew(failed, 1031.0, lease=LEASE)


async def test_an_end_is_told_once(ledger):
    """A second word about a sweep that is over changes nothing."""
    sweep = await begin(ledger)
    await finish(ledger, sweep, outcome="failed")
    await finish(ledger, sweep, now=1040.0, outcome="done")
    assert await ledger.last("nightly") is None
    done = await begin(ledger, now=1050.0)
    await finish(ledger, done, now=1060.0)
    await finish(ledger, done, now=1070.0, outcome="failed")
    assert await ledger.last("nightly") == ("2026-10-25", 1060.0)
    assert await begin(ledger, now=1080.0) is None


async def test_kinds_and_windows_do_not_know_each_other(ledger):
    """A nightly sweep says nothing of the hours, nor one night of another."""
    await finish(ledger, await begin(ledger))
    assert await begin(ledger, kind="weekly") is not None
    assert await begin(ledger, "2026-10-26") is not None
    assert await ledger.last("weekly") is None


async def test_the_newest_is_the_one_that_was_done_last(ledger):
    """Whatever its window is called: after a clock that was years ahead, the next sweep is the newest again."""
    await finish(ledger, await begin(ledger, "2031-01-01", now=2e9), now=2e9)
    await finish(ledger, await begin(ledger, "2026-10-25"), now=1030.0)
    assert await ledger.last("nightly") == ("2026-10-25", 1030.0)


async def test_all_of_it_is_there_after_a_restart(place):
    """Done stays done, held stays held, and no id is given twice."""
    ledger = place.open()
    done, held = await begin(ledger), await begin(ledger, "2026-10-26")
    await finish(ledger, done)
    ledger = place.open()
    assert await begin(ledger) is None
    assert await begin(ledger, "2026-10-26", owner="b") is None
    assert await ledger.last("nightly") == ("2026-10-25", 1030.0)
    assert await ledger.renew(held, 1040.0, lease=LEASE)
    assert await begin(ledger, "2026-10-27") not in {done, held}
