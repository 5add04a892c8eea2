"""What seemed to be so and is not: sweeps take it back, and take nothing back that still is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.kinds import SweepKind
from genesisd.watch.model import Content
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_sweep import LIST, ONE, ROOT, TWO, body, landed, pins, repo, told, tree

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


async def test_a_snooze_that_is_over_needs_no_sweep(tmp_path):
    """Who asks for the series, or sweeps the gravest rows alone, opens it again: the row's own sweep may be a day off."""
    dead = Fact(TWO, state="closed", closed_at=1_767_600_000.0)
    text = LIST.replace(b"action: watch", b"action: port")
    async with watched_box(tmp_path / "box", text, World.of(Fact(ONE), dead)) as box:
        await box.sweep()
        one = next(one for one in await box.kept() if one.decision.kind is DecisionKind.TRIGGER_DEAD)

        async def snoozed(seconds: float) -> Standing:
            until = box.clock.wall() + seconds
            await box.desk.answer(one.id, Standing.SNOOZED, ROOT, why="", until=until)
            await box.watching.refresh()
            return next(kept.standing for kept in await box.kept() if kept.id == one.id)

        for look in (box.watching.refresh, lambda: box.sweep(SweepKind.HOURLY)):
            assert await snoozed(60) is Standing.SNOOZED
            box.clock.ahead += 61
            await look()
            assert next(kept.standing for kept in await box.kept() if kept.id == one.id) is Standing.OPEN
        assert len([told for told in box.sink.of("watch_decision_opened") if told["decision"] == one.id]) == 3
