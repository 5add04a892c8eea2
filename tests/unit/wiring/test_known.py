"""What was answered right once, and counts from then on."""

from __future__ import annotations

import sqlite3
from dataclasses import replace

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
        seen = cases.of("w", GENERAL, "m")
        assert not seen.counts("tool-calls", "one")
        seen.right("tool-calls", "one")
        await cases.close()
        again = KnownCases(store.meta)
        await again.load("w")
        seen = again.of("w", GENERAL, "m")
        assert seen.counts("tool-calls", "one")
        assert not seen.counts("reasoning", "one")
        assert not again.of("other", GENERAL, "m").counts("tool-calls", "one")
    finally:
        store.close()


async def test_a_worker_that_left_has_shown_nothing(tmp_path):
    """One that comes back under its name is another one."""
    store = Store.open(tmp_path / "genesisd.db")
    try:
        cases = KnownCases(store.meta)
        cases.of("w", GENERAL, "m").right("tool-calls", "one")
        cases.forget("w")
        await cases.close()
        again = KnownCases(store.meta)
        await again.load("w")
        assert not again.of("w", GENERAL, "m").counts("tool-calls", "one")
    finally:
        store.close()


async def test_another_model_or_other_questions_begin_anew():
    """Under the same worker's name: what one model could answer may be beyond the next, and ids are used again."""
    cases = KnownCases(Broken())
    seen = cases.of("w", GENERAL, "large")
    seen.right("tool-calls", "one")
    assert not cases.of("w", GENERAL, "small").counts("tool-calls", "one")
    assert not cases.of("w", replace(GENERAL, drift="of another release"), "large").counts("tool-calls", "one")
    cases.of("w", GENERAL, "small").right("tool-calls", "two")
    assert not seen.counts("tool-calls", "one")
    await cases.close()


async def test_a_twin_is_held_against_what_its_original_could_answer():
    """Else no experiment would ever see a general question fail; nothing is kept of it under its own name."""
    cases = KnownCases(Broken())
    cases.of("w", GENERAL, "m").right("tool-calls", "one")
    twin = cases.of_twin("w", GENERAL, "m")
    twin.right("tool-calls", "two")
    assert twin.counts("tool-calls", "one")
    assert not twin.counts("tool-calls", "two")
    assert not cases.of("w", GENERAL, "m").counts("tool-calls", "two")
    await cases.close()


async def test_of_a_casebook_that_somebody_vouches_for_every_case_counts():
    """Its author knows the model."""
    seen = KnownCases(Broken()).of("w", Casebook("mine"), "m")
    assert isinstance(seen, Vouched)
    assert seen.counts("tool-calls", "never seen")


async def test_a_disk_that_does_not_answer_costs_memory_only():
    """Neither loading nor keeping fails."""
    cases = KnownCases(Broken())
    await cases.load("w")
    cases.of("w", GENERAL, "m").right("tool-calls", "one")
    await cases.close()
    assert cases.of("w", GENERAL, "m").counts("tool-calls", "one")


@pytest.mark.parametrize("kept", [7, None, {"a": 1}, ["tool-calls/one"], {"of": 7, "cases": ["tool-calls/one"]}])
async def test_what_is_no_list_of_cases_counts_for_nothing(tmp_path, kept):
    """The store may be another version's."""
    store = Store.open(tmp_path / "genesisd.db")
    try:
        await store.meta.set("known-right/w", kept)
        cases = KnownCases(store.meta)
        await cases.load("w")
        assert not cases.of("w", GENERAL, "m").counts("tool-calls", "one")
    finally:
        store.close()
