"""The schedule on the store that is really kept on a disk."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from genesisd.store.store import Store
from genesisd.watch.claims import Swept
from genesisd.watch.schedule import Schedule
from genesisd.watch.spec import ScheduleSpec

SPEC = ScheduleSpec(nightly="30 2 * * *", hourly=None, weekly=None, jitter=0)


class At:
    """A moment."""

    def __init__(self, text):
        self._wall = datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

    def wall(self):
        return self._wall

    def monotonic(self):
        return 0.0


@pytest.fixture
def made():
    return []


async def daemon(path, made, text, owner):
    """One life of a daemon: it looks twice, and ends."""

    async def sweep(claim):
        made.append((claim.due.window, claim.due.is_late))
        return Swept("done", {"rows": 113})

    store = Store.open(path)
    try:
        schedule = Schedule(SPEC, store.watch_ledger, sweep, owner=owner, box="box", clock=At(text))
        await schedule.look()
        await schedule.look()
        await schedule.close()
    finally:
        store.close()


async def test_s6_downtime_over_the_slot(tmp_path, made):
    """One sweep a window over restarts before it, hours after it, and again after that."""
    path = tmp_path / "genesisd.db"
    for n, text in enumerate(
        [
            "2026-10-24T02:30:01",
            "2026-10-24T20:00:00",
            "2026-10-25T02:29:59",
            "2026-10-25T08:30:00",
            "2026-10-25T08:31:00",
            "2026-10-26T02:30:00",
        ]
    ):
        await daemon(path, made, text, f"life {n}")
    assert made == [("2026-10-24", False), ("2026-10-25", True), ("2026-10-26", False)]
