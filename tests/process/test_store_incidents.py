"""Incidents and what probes said, on a real disk: kept, bounded, migrated, restored."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.incidents.model import Happening, Incident, Recorded
from genesisd.store import Store, schema
from genesisd.store.history import ProbeHistory, ProbeRun
from genesisd.store.incidents import IncidentTable

pytestmark = pytest.mark.process


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "genesisd.db"


def incident(worker: str = "llm", **changes) -> Incident:
    first = Incident(
        worker=worker,
        incarnation=7,
        opened=1000.0,
        cause="hung",
        title="hung",
        text="no tokens for 15 s",
        build="b1",
        probes=("progress",),
        happenings=(Happening(1000.0, "liveness", "no tokens", {"pid": 5}),),
        recorded=(Recorded("golden", "failure", "other words", "/v1/completions", {"prompt": "x"}, 200, "y"),),
        evidence="/var/lib/x",
    )
    return replace(first, **changes)


def run(n: int, kind: str = "golden", worker: str = "llm", at: float = 1000.0) -> ProbeRun:
    return ProbeRun(at, worker, kind, "correctness", "success", f"answer {n}", 1, 0.5, 12, {"n": n})


async def test_an_incident_comes_back_as_it_was(path):
    """All of it, by id, in lists, as the open one, and after a reopening."""
    store = Store.open(path)
    kept = store.incidents.open(incident())
    assert kept == replace(incident(), id=1)
    assert await store.incidents.get(1) == kept == await store.incidents.open_of("llm")
    other = store.incidents.open(incident("second"))
    store.close()
    store = Store.open(path)
    try:
        assert store.problems == []
        assert store.incidents.load() == (kept, other)
        assert await store.incidents.list() == (other, kept)
        assert await store.incidents.list("llm") == (kept,)
        assert await store.incidents.get(3) is None
        assert await store.incidents.get(2**70) is None
    finally:
        store.close()


async def test_a_closed_incident_is_open_no_more(path):
    """It stays in the list, and its id is not given again."""
    store = Store.open(path)
    kept = store.incidents.open(incident())
    store.incidents.update(replace(kept, closed=1200.0, title="cured"))
    assert await store.incidents.open_of("llm") is None
    assert await store.incidents.list("llm", open_only=True) == ()
    assert (await store.incidents.list("llm"))[0].title == "cured"
    store.close()
    store = Store.open(path)
    assert store.incidents.load() == ()
    assert store.incidents.open(incident()).id == 2
    store.close()


async def test_odd_words_are_kept_as_far_as_they_can_be(path):
    """Half a character, an object that JSON does not know, a number that it does not know either."""
    store = Store.open(path)
    odd = Happening(1.0, "exit", "cut \ud83d", {"a": object(), "b": float("nan"), "c": Path("/x")})
    store.incidents.open(incident(text="\udcff", happenings=(odd,)))
    store.history.append(replace(run(1), summary="\udcff", evidence={"a": {1, 2}}))
    store.history.append(replace(run(2), evidence={"a": {(1, 2): 3}}))
    try:
        found = await store.incidents.get(1)
        assert (found.text, found.happenings[0].text, found.happenings[0].fields["c"]) == ("?", "cut ?", "/x")
        assert [one.summary for one in await store.history.query("llm")] == ["answer 2", "?"]
        assert store.errors == 0
    finally:
        store.close()


async def test_closed_incidents_are_bounded_and_open_ones_stay(path):
    """By their number and by their age."""
    store = Store.open(path)
    table = IncidentTable(store._writer, 0, [], max_rows=10, max_age=1000.0)
    first = table.open(incident("first", opened=0.0))
    for n in range(30):
        done = table.open(incident(opened=float(n)))
        table.update(replace(done, closed=float(n)))
    left = await table.list(limit=100)
    assert len(left) == 11
    assert left[-1] == first
    table.open(incident("last", opened=5000.0))
    assert [one.worker for one in await table.list(limit=100)] == ["last", "first"]
    store.close()


async def test_history_is_bounded_for_each_kind_and_by_age(path):
    """A kind that asks each second does not push out one that asks each hour."""
    store = Store.open(path)
    history = ProbeHistory(store._writer, 0, max_rows=20, max_age=500.0)
    history.append(run(0, "needle"))
    history.append(run(0, "needle", "other"))
    for n in range(257):
        history.append(run(n))
    assert [one.evidence["n"] for one in await history.query("llm", "golden", limit=3)] == [256, 255, 254]
    assert len(await history.query("llm", "golden", limit=1000)) == 20
    assert len(await history.query("llm", limit=1000)) == 21
    assert len(await history.query("other")) == 1
    again = ProbeHistory(store._writer, history._last, max_age=500.0)
    again.append(run(1, at=9999.0))
    assert await again.query("llm", limit=1000) == (run(1, at=9999.0),)
    await again.forget("llm")
    assert await again.query("llm") == ()
    store.close()


async def test_a_file_of_the_first_version_is_brought_up(path, monkeypatch):
    """What it holds stays, and the new tables work."""
    everything = schema.migrations()
    connection = sqlite3.connect(path, isolation_level=None)
    monkeypatch.setattr(schema, "migrations", lambda: everything[:1])
    schema.migrate(connection)
    connection.execute("INSERT INTO journal (at, kind, fields) VALUES (1.0, 'old', '{}')")
    connection.close()
    monkeypatch.setattr(schema, "migrations", lambda: everything)
    store = Store.open(path)
    try:
        assert store.problems == []
        assert [one.kind for one in await store.journal.query()] == ["old"]
        assert store.incidents.open(incident()).id == 1
        assert await store.incidents.open_of("llm") is not None
    finally:
        store.close()


async def test_an_unreadable_incident_costs_only_itself(path):
    """It is told as a problem; the others are there."""
    store = Store.open(path)
    store.incidents.open(incident("a"))
    store.incidents.open(incident("b"))
    store.close()
    connection = sqlite3.connect(path)
    connection.execute("UPDATE incidents SET happenings = '[{\"at\": \"x\"}]' WHERE worker = 'a'")
    connection.commit()
    connection.close()
    store = Store.open(path)
    try:
        assert [one.worker for one in store.incidents.load()] == ["b"]
        assert ["incident 1 of worker a" in one.text for one in store.problems] == [True]
        assert [one.worker for one in await store.incidents.list()] == ["b"]
        assert await store.incidents.get(1) is None
    finally:
        store.close()


async def test_open_incidents_are_written_again_into_an_empty_file(path):
    """Damage in use costs what is over, not what goes on."""
    store = Store.open(path)
    goes_on = store.incidents.open(incident("goes-on"))
    over = store.incidents.open(incident("over"))
    store.incidents.update(replace(over, closed=2.0))
    await store.incidents.list()

    def damage(connection):
        raise sqlite_corrupt()

    with pytest.raises(sqlite3.DatabaseError):
        await store._writer.ask(damage)
    try:
        assert await store.incidents.list() == (goes_on,)
        assert store.incidents.open(incident("next")).id == 3
    finally:
        store.close()


async def sql(store: Store, statement: str) -> None:
    await store._writer.ask(lambda connection: connection.execute(statement) and None)


def sqlite_corrupt() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("database disk image is malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


async def test_what_a_full_disk_refused_is_written_with_the_next(path):
    """In its newest form, and nobody waits for it meanwhile."""
    store = Store.open(path)
    failures = []
    store.on_problem = failures.append
    kept = store.incidents.open(incident())
    await store.incidents.list()
    for table in ("incidents", "probe_history"):
        await sql(store, f"CREATE TRIGGER no_{table} BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'full'); END")
    store.incidents.update(replace(kept, text="second"))
    store.incidents.update(replace(kept, text="third"))
    store.history.append(run(1))
    assert (await store.incidents.get(1)).text == kept.text
    for table in ("incidents", "probe_history"):
        await sql(store, f"DROP TRIGGER no_{table}")
    store.incidents.open(incident("other"))
    store.history.append(run(2))
    assert (await store.incidents.get(1)).text == "third"
    assert [one.evidence["n"] for one in await store.history.query("llm")] == [2, 1]
    assert store.errors >= 3
    assert [one.code for one in failures] == ["write"]
    store.close()


async def test_truncation_at_any_byte_never_refuses(path, tmp_path):
    """A torn file opens, whatever is left of its incidents."""
    store = Store.open(path)
    for n in range(20):
        store.incidents.open(incident(f"w{n}"))
        store.history.append(run(n))
    store.close()
    whole = path.read_bytes()
    torn = tmp_path / "torn.db"
    for size in range(0, len(whole), max(1, len(whole) // 60)):
        for old in tmp_path.glob("torn.db*"):
            old.unlink()
        torn.write_bytes(whole[:size])
        store = Store.open(torn)
        store.incidents.open(incident("new"))
        assert (await store.incidents.open_of("new")).worker == "new"
        store.close()
