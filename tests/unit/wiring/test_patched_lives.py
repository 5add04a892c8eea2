"""Patches from life to life: verdicts, losses, what the next daemon knows."""

from __future__ import annotations

import sqlite3

import pytest

from genesisd.errors import UnavailableError
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.patched import GOOD, RUNNING
from genesisd.wiring.starts import PatchNote
from tests.unit.wiring.patched_box import box

__all__ = ["box"]


async def test_a_start_is_told_once_with_every_verdict(box):
    """Event, metrics and store say the same."""
    box.worker("P1_STEPS", "P3_AWAY", "P4_LATER")
    start = await box.start(5)
    verdicts = {name: note.verdict for name, note in start.patches.items()}
    assert verdicts == {
        "P1": "applied", "P2": "not_enabled", "P3": "anchor_missing", "P4": "version", "PN346B": "not_enabled",
    }  # fmt: skip
    assert box.metrics.started["w"] == (verdicts, ())
    assert box.sink.of("patches_summary") == [
        {
            "incarnation": 5, "build": start.build, "lost": [],
            "patches": {"applied": ["P1"], "anchor_missing": ["P3"], "version": ["P4"]},
        }
    ]  # fmt: skip
    assert "patches_lost" not in box.sink.kinds
    assert (await box.kept(RUNNING))["incarnation"] == 5


async def test_a_patch_that_is_gone_since_the_last_good_start_is_lost(box):
    """The anchor went with the new release: an event, a metric, and the start says so."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.pins.version = "0.33.0"
    box.pins.tree["vllm/core.py"] = box.pins.tree["vllm/core.py"].replace("return 10", "return 11")
    start = await box.start(2)
    assert start.lost == ("P2",)
    assert box.metrics.started["w"][1] == ("P2",)
    assert box.sink.of("patches_lost") == [{"incarnation": 2, "lost": ["P2"]}]


async def test_a_start_with_losses_is_not_what_later_ones_are_compared_with(box):
    """Else the loss would be told once, and the second start would look whole."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS")
    assert (await box.start(2)).lost == ("P2",)
    assert (await box.start(3)).lost == ("P2",)
    assert (await box.kept(GOOD))["incarnation"] == 1
    box.worker("P1_STEPS", "P2_SIZE")
    assert (await box.start(4)).lost == ()
    assert (await box.kept(GOOD))["incarnation"] == 4


@pytest.mark.parametrize("policy", [None, "compat", "safe"])
@pytest.mark.parametrize("word", [{"GENESIS_DISABLE_P2_SIZE": "1"}, {"GENESIS_ENABLE_P2_SIZE": "0"}])
async def test_what_is_switched_off_by_a_word_is_not_lost(box, policy, word):
    """Under each policy, though a policy takes the word out of the environment."""
    box.worker("P1_STEPS", "P2_SIZE", policy=policy)
    await box.start(1)
    box.worker("P1_STEPS", env=word, policy=policy)
    start = await box.start(2)
    assert start.lost == ()
    assert start.patches["P2"].verdict == "disabled"
    assert (await box.kept(GOOD))["incarnation"] == 2


async def test_what_a_policy_leaves_out_is_not_lost(box):
    """It was declared to do nothing here, and the reason is told."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS", "P2_SIZE", policy="safe", attribution={"P2": {"role": "no_op"}})
    start = await box.start(2)
    assert start.lost == ()
    assert start.patches["P2"] == PatchNote("disabled", "safe drops role no_op")


async def test_the_plain_pin_after_a_patched_life_is_a_loss(box):
    """All switches went away at once: that is how a stack gets lost."""
    box.worker("P1_STEPS")
    await box.start(1)
    box.worker()
    start = await box.start(2)
    assert (start.build, start.lost) == (None, ("P1",))


async def test_ready_writes_once_a_life(box, monkeypatch):
    """It is called at every change of a ready worker."""
    written = []
    box.worker("P1_STEPS")
    await box.start(1, ready=False)
    monkeypatch.setattr(box.patched._notes, "put", lambda key, value: written.append(key))
    for _ in range(3):
        box.patched.ready("w", 1)
    assert written == [f"{GOOD}w"]
    box.patched.ready("w", 2)  # another life's news
    assert written == [f"{GOOD}w"]


async def test_a_start_that_never_became_ready_is_not_good(box):
    """What it ran was not proven."""
    box.worker("P1_STEPS")
    await box.start(1, ready=False)
    assert await box.kept(GOOD) is None
    box.worker()
    assert (await box.start(2)).lost == ()


async def test_a_spawn_without_news_forgets_the_life_before(box):
    """The next daemon must not think that it adopts a patched one."""
    box.worker("P1_STEPS")
    await box.start(1)
    box.specs["w"] = WorkerSpec(command=("x",))
    await box.patched.prepare("w", 2)
    box.patched.spawned("w", 2)
    assert box.patched.running("w", 1) is None
    assert await box.kept(RUNNING) is None
    assert box.metrics.started["w"] == ({}, ())


async def test_the_next_daemon_knows_what_it_adopts(box):
    """Build, verdicts and losses of the living incarnation, and of that one alone."""
    box.worker("P1_STEPS", "P2_SIZE")
    await box.start(1)
    box.worker("P1_STEPS")
    before = await box.start(2)
    await box.patched.close()
    box.again()
    await box.patched.load(["w", "another"])
    assert box.patched.running("w", 2) == before
    assert box.patched.running("w", 3) is None
    box.patched.adopted("w", 2)
    assert box.metrics.started["w"] == ({name: note.verdict for name, note in before.patches.items()}, ("P2",))
    assert box.sink.kinds == []
    assert box.patched.build(before.build) is box.made[before.build]
    assert (await box.start(3)).lost == ("P2",)


async def test_a_daemon_that_dies_right_after_the_spawn_leaves_word_of_it(box):
    """The note is there before the life is: the next daemon attests what it adopts."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    choice = await box.patched.prepare("w", 5)
    box.again()
    await box.patched.load(["w"])
    start = box.patched.running("w", 5)
    assert (start.build, start.incarnation) == (choice.build.name, 5)


async def test_a_spawn_that_failed_begins_nothing(box):
    """What was prepared for it is not taken for what the next one runs."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 5)
    box.specs["w"] = WorkerSpec(command=("x",))
    await box.patched.prepare("w", 6)
    box.patched.spawned("w", 6)
    assert box.patched.running("w", 5) is None
    assert box.patched.running("w", 6) is None


async def test_a_life_that_nothing_is_known_of_is_shown_as_nothing(box):
    """The store was lost: no metric is set for a guess."""
    await box.patched.load(["w"])
    box.patched.adopted("w", 7)
    assert box.metrics.started == {}


async def test_a_life_that_the_store_forgot_is_taken_for_the_build_it_reports(box):
    """It is remembered again, with the verdicts of the build, so that it is attested and the next daemon knows it."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    name = (await box.patched.choose("w")).build.name
    start = box.patched.recover("w", 7, name)
    assert (start.build, start.incarnation, start.patches["P1"].verdict) == (name, 7, "applied")
    assert box.patched.running("w", 7) is start
    assert box.metrics.started["w"] == ({"P1": "applied"}, ())
    await box.patched.close()
    box.again()
    await box.patched.load(["w"])
    assert box.patched.running("w", 7) == start


async def test_a_store_that_cannot_be_read_costs_the_comparison_only(box, monkeypatch):
    """Workers start all the same."""

    class Broken:
        async def get(self, key, default=None):
            raise sqlite3.OperationalError("disk I/O error")

        async def set(self, key, value):
            raise sqlite3.OperationalError("disk I/O error")

    box.worker("P1_STEPS")
    monkeypatch.setattr(box.patched._notes, "_meta", Broken())
    await box.patched.load(["w"])
    start = await box.start(1)
    assert (start.incarnation, start.lost) == (1, ())
    await box.patched.close()


async def test_a_build_that_went_between_gate_and_spawn_stops_the_spawn(box):
    """Nothing else would run than what the gate saw."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    assert await box.shut() is None
    box.made.clear()
    with pytest.raises(UnavailableError, match="is gone"):
        await box.patched.prepare("w", 1)
    box.patched.spawned("w", 1)
    assert box.patched.running("w", 1) is None


async def test_a_build_is_read_once_by_its_name(box):
    """A probe asks twice a second."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    (name,) = box.made
    looked = box.looked
    box.again()
    assert box.patched.build(name) is box.made[name]
    assert box.patched.build(name) is box.made[name]
    assert box.looked == looked + 1
    assert box.patched.build("none-0123456789ab+0123456789ab") is None
