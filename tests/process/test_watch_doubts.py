"""What seemed to be so and is not: sweeps take it back, and take nothing back that still is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.model import Content
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_sweep import LIST, ONE, TWO, body, landed, pins, repo, told, tree

__all__ = ["repo"]
pytestmark = pytest.mark.process
SCHEDULER = "vllm/v1/core/sched/scheduler.py"
WRONG = f"""\
markers:
- pr: vllm#1
  title: an empty step
  present: [{{file: {SCHEDULER}, has: "def step(items):"}}]
"""


async def standing(box):
    """Of the retire candidate, or None."""
    found = [one.standing for one in await box.kept() if one.decision.kind is DecisionKind.RETIRE_CANDIDATE]
    return found[0] if found else None


async def test_a_wrong_marker_that_was_taken_out_asks_to_retire_nothing(tmp_path, repo):
    """Where no diff can be had the marker alone told: without it nothing is known, and the decision passes.

    Near miss: while the markers file cannot be read nothing is taken back.
    """
    head = repo.commit("Go on (#1)", **{SCHEDULER: body()})
    tree(tmp_path / "box", "0.32.0", repo, head)
    marks = tmp_path / "box" / "marks.yaml"
    marks.write_text(WRONG)
    world = World.of(replace(landed(repo, head), too_large=404), Fact(TWO))
    declared = pins(now=("0.32.0", head, ["current"]))
    async with watched_box(tmp_path / "box", LIST, world, pins=declared, markers="marks.yaml") as box:
        await box.sweep()
        assert (await told(box, ONE, "now"))[1] is Content.PRESENT
        assert await standing(box) is Standing.OPEN
        marks.write_text("markers: [")
        await box.sweep()
        assert await standing(box) is Standing.OPEN
        marks.write_text("markers: []\n")
        await box.sweep()
        assert (await told(box, ONE, "now"))[1] is Content.UNKNOWN
        assert await standing(box) is Standing.PASSED
