"""Notes for the next daemon: what is put comes out in the order of the calls, and a broken disk costs nothing else."""

from __future__ import annotations

import sqlite3

import pytest

from genesisd.store.store import Store
from genesisd.wiring.notes import Notes


class Broken:
    async def get(self, key, default=None):
        raise sqlite3.OperationalError("disk I/O error")

    async def set(self, key, value):
        raise sqlite3.OperationalError("disk I/O error")


@pytest.fixture
async def store(tmp_path):
    one = Store.open(tmp_path / "genesisd.db")
    yield one
    one.close()


async def test_the_last_word_is_what_is_kept(store):
    """Whoever puts twice in a row is not overtaken by himself."""
    notes = Notes(store.meta)
    for number in range(50):
        notes.put("key", number)
    await notes.close()
    assert await Notes(store.meta).get("key") == 49


async def test_what_was_set_is_there_when_it_returns(store):
    """And None takes it away."""
    notes = Notes(store.meta)
    await notes.set("key", {"a": [1]})
    assert await store.meta.get("key") == {"a": [1]}
    await notes.set("key", None)
    assert await notes.get("key", "absent") == "absent"


async def test_a_disk_that_does_not_answer_costs_the_note(store):
    """Nothing raises, neither at once nor in the background."""
    notes = Notes(Broken())
    notes.put("key", 1)
    await notes.set("key", 2)
    await notes.close()
    assert await notes.get("key", 3) == 3
