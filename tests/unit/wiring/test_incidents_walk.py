"""The recorder on random events: at most one incident of a worker is open, and everything told agrees."""

from __future__ import annotations

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.incidents.model import CAUSES, Recorded
from genesisd.incidents.reading import GATES
from genesisd.telemetry.events import KINDS
from tests.unit.wiring.test_incidents import Table, World

FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "cause": st.sampled_from([*CAUSES, "stopped", "shim-lost", "new"]),
        "code": st.sampled_from([*GATES, "build-making", "hung"]),
        "phase": st.sampled_from(["ready", "stopped", "failed", "stopping"]),
        "reason_code": st.sampled_from(["operator", "shutdown", "unkillable", "was-unkillable", "start-timeout"]),
        "step": st.sampled_from(["note", "alert", "restart"]),
        "kinds": st.lists(st.sampled_from(["golden", "creep", "engagement"]), max_size=2),
        "verb": st.sampled_from(["start", "stop", "reset", "replay"]),
        "text": st.text(max_size=20),
        "summary": st.text(max_size=20),
        "reason": st.text(max_size=20),
        "path": st.text(max_size=5),
        "seconds": st.floats(0, 100),
    },
)
EVENTS = st.lists(st.tuples(st.sampled_from(sorted(KINDS)), st.sampled_from(["a", "b"]), FIELDS), max_size=40)


@settings(max_examples=150, deadline=None)
@given(events=EVENTS, asks=st.booleans(), cut=st.integers(0, 40))
def test_at_most_one_is_open_and_all_agree(events, asks, cut):
    """Whatever comes in whatever order, and wherever a new daemon takes over."""
    asyncio.run(walk(events, cut, asks=asks))


async def walk(events, cut, *, asks):
    table = Table()
    worlds = [World(table, soon=True)]
    for number, (kind, worker, fields) in enumerate(events):
        if number == cut:
            await worlds[-1].recorder.close()
            worlds.append(World(table, soon=True))
        if asks:
            worlds[-1].recorder.asked(worker, [Recorded("golden", "failure", str(number))])
        worlds[-1].tell(kind, worker=worker, incarnation=number, **fields)
        if number % 3 == 0:
            await asyncio.sleep(0)
        agrees(worlds, table)
    for worker in ("a", "b"):
        worlds[-1].tell("worker_phase", worker=worker, phase="stopped", reason_code="operator", reason="x")
    assert table.load() == ()
    agrees(worlds, table)
    await worlds[-1].recorder.close()
    assert not any(world.sink.of("sink_error") for world in worlds)


def agrees(worlds, table):
    goes_on = [one for one in table.known.values() if one.closed is None]
    assert len({one.worker for one in goes_on}) == len(goes_on)
    assert {one.worker: one for one in goes_on} == dict(worlds[-1].recorder.open)
    opened = [told["incident"] for world in worlds for told in world.sink.of("incident_opened")]
    closed = [told["incident"] for world in worlds for told in world.sink.of("incident_closed")]
    assert opened == sorted(table.known)
    assert sorted(closed) == sorted(one.id for one in table.known.values() if one.closed is not None)
