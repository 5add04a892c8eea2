"""What was answered right once, and counts from then on."""

from __future__ import annotations

import sqlite3

import pytest

from genesisd.probes.casebook import Casebook
from genesisd.probes.ports import Vouched
from genesisd.store.meta import Meta
from genesisd.store.store import Store
from genesisd.wiring.known import KnownCases

GENERAL = Casebook("general", vouched=False)


class Broken(Meta):
    """A disk that does not answer."""

    def __init__(self):
        pass

    async def get(self, key, default=None):
        raise sqlite3.OperationalError(key)

    async def set(self, key, value):
        raise sqlite3.OperationalError(key)


async def test_a_case_counts_once_it_was_right(tmp_path):
    """For this worker and this kind alone, and for the next daemon too."""
    store = Store.open(tmp_path / "genesisd.db")
    try:
        cases = KnownCases(store.meta)
        seen = cases.of("w", GENERAL)
        assert not seen.counts("tool-calls", "one")
        seen.right("tool-calls", "one")
        await cases.close()
        again = KnownCases(store.meta)
        await again.load("w")
        seen = again.of("w", GENERAL)
        assert seen.counts("tool-calls", "one")
        assert not seen.counts("reasoning", "one")
        assert not again.of("other", GENERAL).counts("tool-calls", "one")
    finally:
        store.close()


async def test_a_worker_that_left_has_shown_nothing(tmp_path):
    """One that comes back under its name is another one."""
    store = Store.open(tmp_path / "genesisd.db")
    try:
        cases = KnownCases(store.meta)
        cases.of("w", GENERAL).right("tool-calls", "one")
        cases.forget("w")
        await cases.close()
        again = KnownCases(store.meta)
        await again.load("w")
        assert not again.of("w", GENERAL).counts("tool-calls", "one")
    finally:
        store.close()


async def test_of_a_casebook_that_somebody_vouches_for_every_case_counts():
    """Its author knows the model."""
    seen = KnownCases(Broken()).of("w", Casebook("mine"))
    assert isinstance(seen, Vouched)
    assert seen.counts("tool-calls", "never seen")


async def test_a_disk_that_does_not_answer_costs_memory_only():
    """Neither loading nor keeping fails."""
    cases = KnownCases(Broken())
    await cases.load("w")
    cases.of("w", GENERAL).right("tool-calls", "one")
    await cases.close()
    assert cases.of("w", GENERAL).counts("tool-calls", "one")


@pytest.mark.parametrize("kept", [7, None, {"a": 1}])
async def test_what_is_no_list_of_cases_counts_for_nothing(tmp_path, kept):
    """The store may be another version's."""
    store = Store.open(tmp_path / "genesisd.db")
    try:
        await store.meta.set("known-right/w", kept)
        cases = KnownCases(store.meta)
        await cases.load("w")
        assert not cases.of("w", GENERAL).counts("tool-calls", "one")
    finally:
        store.close()
