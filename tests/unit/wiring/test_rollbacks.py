"""What was proven right, and who was taken back to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.store.store import Store
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.rollbacks import Rollbacks
from genesisd.wiring.starts import PatchNote, Start

SPEC = WorkerSpec(pin="cpu", model="m")
GOOD = Start("cpu-1+aa", {"P1": PatchNote("applied")}, incarnation=3, pin="cpu")
NEW = Start("cpu-1+bb", {"P1": PatchNote("applied"), "P2": PatchNote("applied")}, incarnation=4, pin="cpu")


@pytest.fixture
async def store(tmp_path):
    one = Store.open(tmp_path / "genesisd.db")
    yield one
    one.close()


async def loaded(store):
    one = Rollbacks(store.meta)
    await one.load("w")
    return one


async def test_there_is_nowhere_to_go_back_to_at_first(store):
    """Nor from what is the proven one itself, nor from nothing."""
    one = await loaded(store)
    assert one.target("w", NEW) is None
    one.prove("w", GOOD)
    assert one.target("w", GOOD) is None
    assert one.target("w", None) is None
    assert one.target("w", NEW) == GOOD
    await one.close()


async def test_the_same_build_on_another_pin_is_another_one(store):
    """The plain pin has no name of its own."""
    one = await loaded(store)
    plain = Start(None, incarnation=1, pin="cpu")
    one.prove("w", plain)
    assert one.target("w", Start(None, incarnation=2, pin="cpu-next")) == plain
    await one.close()


async def test_what_was_right_with_another_model_is_nowhere_to_go_back_to(store):
    """Its pin may not know the present one; the same build is proven anew with that."""
    one = await loaded(store)
    one.prove("w", replace(GOOD, model="small"))
    await one.close()
    one = await loaded(store)
    assert one.target("w", replace(NEW, model="large")) is None
    assert one.target("w", replace(NEW, model="small")) == replace(GOOD, model="small")
    one.prove("w", replace(GOOD, model="large"))
    assert one.target("w", replace(NEW, model="large")) == replace(GOOD, model="large")
    await one.close()


async def test_what_an_older_program_kept_has_no_pin_and_cannot_be_gone_back_to(store):
    """Nobody knows on which it was right."""
    one = await loaded(store)
    one.prove("w", Start("cpu-1+aa", incarnation=1))
    assert one.target("w", NEW) is None
    await one.close()


async def test_a_worker_stays_back_for_the_next_daemon(store):
    """Until its configuration is another one."""
    one = await loaded(store)
    one.prove("w", GOOD)
    one.go_back("w", GOOD, SPEC)
    await one.close()
    again = await loaded(store)
    assert again.proven("w") == GOOD
    assert again.back("w", SPEC) == GOOD
    assert again.back("w", SPEC.model_copy(update={"args": ("--seed=1",)})) is None
    assert again.back("other", SPEC) is None


async def test_its_pin_is_the_one_that_it_went_back_to(store):
    """All who ask for the pin see that one."""
    one = await loaded(store)
    specs = {"w": SPEC, "other": SPEC}
    assert one.effective(specs) is specs
    one.go_back("w", Start("old-1+aa", incarnation=1, pin="old"), SPEC)
    assert {name: spec.pin for name, spec in one.effective(specs).items()} == {"w": "old", "other": "cpu"}
    assert one.applied("w", SPEC).pin == "old"
    assert one.applied("other", SPEC) is SPEC
    one.lift("w")
    assert one.applied("w", SPEC) is SPEC
    await one.close()
    assert (await loaded(store)).back("w", SPEC) is None


async def test_a_worker_that_left_is_forgotten(store):
    """One that comes back under its name has proven nothing."""
    one = await loaded(store)
    one.prove("w", GOOD)
    one.go_back("w", GOOD, SPEC)
    one.forget("w")
    await one.close()
    again = await loaded(store)
    assert (again.proven("w"), again.back("w", SPEC)) == (None, None)


@pytest.mark.parametrize("kept", [{"start": 7}, {}, "x", 7, {"start": {"build": "b"}}])
async def test_what_another_version_kept_is_nothing(store, kept):
    """A daemon must start all the same."""
    await store.meta.set("patches/back/w", kept)
    await store.meta.set("patches/proven/w", kept)
    one = await loaded(store)
    assert (one.proven("w"), one.back("w", SPEC)) == (None, None)
