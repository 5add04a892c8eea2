"""How patches stand on a pin, in the words of the watch."""

from __future__ import annotations

from genesisd.patches.edits import Marker
from genesisd.watch.model import Pin
from genesisd.wiring.standing_anchors import standing
from tests.unit.patches.made import FILE, after, edit, patch

PIN = Pin(id="p", version="0.32.0")
TEXTS = {FILE: "one = 1\ntwo = 2\n"}


def told(*patches):
    every = {one.id: one for one in patches}
    return {one.patch: (one.verdict, one.lands, one.superseded) for one in standing(patches, every, TEXTS, PIN)}


def test_each_verdict_says_whether_there_is_something_to_mend():
    """Upstream's own fix, and a version that it is not for, are none; a lost anchor is."""
    found = told(
        patch(edit("one = 1\n", "one = 3\n"), id="P1"),
        patch(edit("gone\n", "x\n"), id="P2"),
        patch(edit("one = 1\n", "x\n"), id="P3", markers=(Marker(FILE, "two = 2"),)),
        patch(edit("gone\n", "x\n"), id="P4", versions="<0.30"),
        patch(id="P5"),
    )
    assert found == {
        "P1": ("applied", True, False),
        "P2": ("anchor_missing", False, False),
        "P3": ("superseded", True, True),
        "P4": ("version", True, False),
    }


def test_a_patch_is_planned_with_what_it_stands_on_and_without_others():
    """Two that want one place are each well by themselves; one without its base is not."""
    base = patch(after("one = 1\n", "between = 0\n"), id="P1")
    upon = patch(edit("between = 0\n", "between = 1\n", after="P1"), id="P2")
    rival = patch(edit("one = 1\n", "one = 9\n"), id="P3")
    assert {one for _, one, _ in told(base, upon, rival).values()} == {True}
    lost = patch(after("gone\n", "between = 0\n"), id="P1")
    assert told(lost, upon)["P2"][1] is False
