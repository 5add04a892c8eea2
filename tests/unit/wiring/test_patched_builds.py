"""Builds that somebody needs: about to be run, or to be gone back to."""

from __future__ import annotations

import pytest

from genesisd.errors import UnavailableError
from genesisd.pins.build_gc import remove_build
from genesisd.pins.gc import Kept
from genesisd.wiring.overrides import NoOverrides
from genesisd.wiring.starts import Start
from tests.unit.wiring.patched_box import box

__all__ = ["box"]


# --- a build that is about to be run --------------------------------------------------------------------------------


async def test_a_build_is_held_from_its_preparation_to_the_spawn(box):
    """A collection in between keeps it; one before, which took it, is noticed; one after is the process's to hinder."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    (name,) = box.made
    await box.patched.prepare("w", 1)
    await box.patched.prepare("w", 2)
    assert [one.reason for one in box.collect().kept] == ["its lock is held"]
    assert isinstance(remove_build(box.pins.cache, name), Kept)
    box.patched.spawned("w", 2)
    assert box.collect().kept == ()
    with pytest.raises(UnavailableError, match="is gone"):
        await box.patched.prepare("w", 3)


@pytest.mark.parametrize("how", ["forget", "close", "plain"])
async def test_a_build_that_is_never_spawned_is_let_go(box, how):
    """With its worker, with the daemon, or once the worker is to run something else."""
    box.worker("P1_STEPS")
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 1)
    if how == "forget":
        box.patched.forget("w")
    elif how == "close":
        await box.patched.close()
    else:
        box.worker()
        await box.patched.prepare("w", 2)
    assert box.collect().kept == ()


async def test_workers_hold_a_build_that_they_share_each_for_itself(box):
    """The first one that is spawned does not let go for the other."""
    box.worker("P1_STEPS")
    box.specs["other"] = box.specs["w"]
    await box.gate("w")
    await box.build()
    await box.patched.prepare("w", 1)
    await box.patched.prepare("other", 1)
    box.patched.spawned("w", 1)
    assert len(box.collect().kept) == 1
    box.patched.spawned("other", 1)
    assert box.collect().kept == ()


# --- what was found at fault, and what was right before -------------------------------------------------------------


class Guilty(NoOverrides):
    """Whatever is in quarantine, and where the worker was taken back to."""

    def __init__(self):
        self.names, self.start = {}, None

    def quarantined(self, _worker, pin):
        return self.names if pin == "cpu" else {}

    def back(self, _worker, _spec):
        return self.start


async def test_a_patch_in_quarantine_is_not_run_by_way_of_a_build_of_before(box):
    """The worker was taken back, and the search blamed a patch of that very build: the pin runs without it."""
    box.patched._overrides = guilty = Guilty()
    box.worker("P1_STEPS", "P2_SIZE")
    guilty.start = await box.start(1)
    box.worker("P2_SIZE")
    assert (await box.start(2)).build == guilty.start.build
    assert box.patched.can_go_back("w", guilty.start)
    guilty.names = {"P2": "makes the pin fail"}
    box.worker("P1_STEPS", "P2_SIZE")
    assert not box.patched.can_go_back("w", guilty.start)
    found = await box.start(3)
    assert found.build != guilty.start.build
    assert {name: found.patches[name].verdict for name in ("P1", "P2")} == {"P1": "applied", "P2": "quarantined"}


async def test_nobody_is_taken_back_to_a_build_that_is_gone(box):
    """The step would change nothing, and count as taken."""
    box.worker("P1_STEPS")
    start = await box.start(1)
    assert box.patched.can_go_back("w", start)
    box.collect()
    assert not box.patched.can_go_back("w", start)
    assert box.patched.can_go_back("w", Start(None, pin="cpu"))
