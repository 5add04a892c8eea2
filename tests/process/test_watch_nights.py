"""Bad nights of the watch: what breaks around a sweep neither undoes what was known nor is told as something else."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import replace

import pytest

from genesisd.clock import SystemClock
from genesisd.errors import ConfigError, ConflictError, UnavailableError
from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.model import Content
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_sweep import FIXED, LIST, ONE, ROOT, TWO, body, landed, pins, repo, told, tree

__all__ = ["repo"]
pytestmark = pytest.mark.process


class Broken:
    """An appraiser whose child comes to nothing."""

    async def appraise(self, *_):
        raise UnavailableError("no memory")

    async def dossier(self, *_):
        raise UnavailableError("no memory")


@pytest.fixture
async def retiring(tmp_path, repo):
    """A box whose pin has the fix, so that one retire candidate is open."""
    fix = repo.commit("[Bugfix] Mend an empty step (#1)", **{"vllm/v1/core/sched/scheduler.py": body(FIXED)})
    tree(tmp_path / "box", "0.32.0", repo, fix)
    declared = pins(now=("0.32.0", fix, ["current"]))
    async with watched_box(tmp_path / "box", LIST, World.of(landed(repo, fix), Fact(TWO)), pins=declared) as box:
        await box.sweep()
        yield box


async def candidate(box):
    """Id and standing of the retire candidate."""
    return next(
        (one.id, one.standing) for one in await box.kept() if one.decision.kind is DecisionKind.RETIRE_CANDIDATE
    )


async def test_a_pin_that_took_another_version_has_nothing_yet(retiring, repo, tmp_path):
    """Its id is an old one and its files are not: what the old version had asks nobody to give a patch up."""
    pins_file = retiring.folder / "pins.yaml"
    pins_file.write_text(pins_file.read_text().replace("0.32.0", "0.31.0"))
    tree(tmp_path / "box", "0.31.0", repo, repo.git("rev-list", "--max-parents=0", "HEAD").strip())
    retiring.watching.grounds.appraiser = Broken
    assert (await retiring.sweep()).outcome == "partial"
    assert (await told(retiring, ONE, "now"))[1] is Content.UNKNOWN
    assert (await candidate(retiring))[1] is Standing.PASSED


async def test_a_broken_pins_file_takes_nothing_back(retiring):
    """What was asked stays asked, by the pins of before, and the trouble is told."""
    before, kept = await candidate(retiring), await told(retiring, ONE, "now")
    (retiring.folder / "pins.yaml").write_text("pins: [")
    swept = await retiring.sweep()
    assert swept.outcome == "partial"
    assert "those of before are taken" in swept.summary["text"]
    assert (await candidate(retiring), await told(retiring, ONE, "now")) == (before, kept)
    assert not retiring.sink.of("watch_decision_passed")


async def test_a_night_without_a_look_at_the_pins_takes_nothing_back(retiring):
    """The child came to nothing: content and anchors are what they were, for the files are the same."""
    before = [(one.id, one.standing, one.decision.kind) for one in await retiring.kept()]
    assert before
    retiring.watching.grounds.appraiser = Broken
    assert (await retiring.sweep()).outcome == "partial"
    assert [(one.id, one.standing, one.decision.kind) for one in await retiring.kept()] == before


async def test_a_dossier_of_other_files_is_none(retiring):
    """Of another pin, another version under its id, another push, or other edits of ours: it waits for the one that fits."""
    (id_, _), (made,) = await candidate(retiring), await retiring.store.watch_decisions.dossiers()
    assert made.of.startswith("0.32.0 ")
    others = {"pin": "other"}, {"of": "0.31.0"}, {"head": "b" * 40}, {"ours": "of the version before"}
    for other in (replace(made, **changes) for changes in others):
        await retiring.store._writer.ask(lambda connection: connection.execute("DELETE FROM watch_dossiers"))
        await retiring.store.watch_decisions.keep_dossier(other)
        with pytest.raises(ConflictError, match="give up P62 on now, and no dossier"):
            await retiring.desk.answer(id_, Standing.ACCEPTED, ROOT, why="gone upstream")
    await retiring.sweep()
    assert {one.of for one in await retiring.store.watch_decisions.dossiers()} == {made.of}
    assert (await retiring.desk.answer(id_, Standing.ACCEPTED, ROOT, why="gone upstream")).standing == "accepted"


async def test_a_dossier_is_made_anew_once_its_test_can_be_run(retiring):
    """Once: an environment in which the test comes to nothing is no reason to try each night."""
    before = (await retiring.store.watch_decisions.dossiers())[0]
    assert before.no_environment == ("now",)
    grounds = retiring.watching.grounds
    equipped = [replace(pin, python="/bin/false") for pin in await grounds.pins()]
    grounds.pins = lambda: asyncio.sleep(0, equipped)
    await retiring.sweep()
    (after,) = await retiring.store.watch_decisions.dossiers()
    assert after.no_environment == ()
    assert "the host of cases did not come up" in next(iter(after.tests.values()))
    await retiring.sweep()
    await retiring.desk.dossiers(ONE, "P62", "now", anew=False)
    assert await retiring.store.watch_decisions.dossiers() == (after,)


async def test_who_asks_for_a_dossier_gets_one_with_its_test(retiring):
    """Without a word that it be made anew; where nobody can tell what pins there are, the one that lies there."""
    (before,) = await retiring.store.watch_decisions.dossiers()
    pins_file = retiring.folder / "pins.yaml"
    text = pins_file.read_text()
    pins_file.write_text("pins: [")
    (shown,) = await retiring.desk.dossiers(ONE, "P62", "now", anew=False)
    assert shown.made_at == before.made_at
    pins_file.write_text(text)
    grounds = retiring.watching.grounds
    equipped = [replace(pin, python="/bin/false") for pin in await grounds.pins()]
    grounds.pins = lambda: asyncio.sleep(0, equipped)
    (shown,) = await retiring.desk.dossiers(ONE, "P62", "now", anew=False)
    assert shown.made_at > before.made_at


async def test_no_dossier_is_made_of_a_night_without_the_diff(retiring):
    """It would stay for good, and lie before a person as if that were all; who asks for one gets it."""
    await retiring.store._writer.ask(lambda connection: connection.execute("DELETE FROM watch_dossiers"))
    shutil.rmtree(retiring.folder / "cache" / "watch")
    retiring.double.faults.down = True
    swept = await retiring.sweep()
    assert "no dossier of P62 against vllm#1 on now: upstream's diff could not be had" in swept.summary["text"]
    assert not await retiring.store.watch_decisions.dossiers()
    assert (await candidate(retiring))[1] is Standing.OPEN
    (shown,) = await retiring.desk.dossiers(ONE, "P62", "now", anew=False)
    assert shown.edits


async def test_answers_of_a_clock_that_was_ahead_are_of_no_known_age(tmp_path):
    """Taken for fresh they would hide an outage for as long as the clock had been wrong."""
    async with watched_box(tmp_path / "box", LIST, World.of(Fact(ONE), Fact(TWO))) as box:
        box.clock.monotonic = SystemClock().monotonic  # it is the one on the wall that was set
        box.clock.ahead = 30 * 86400.0
        await box.sweep()
        assert {view.state for view in await box.desk.rows()} == {"open"}
        box.clock.ahead = 0.0
        box.double.faults.down = True
        await box.sweep()
        assert {view.state for view in await box.desk.rows()} == {"unknown"}
        box.clock.ahead = 3 * 86400.0
        status = await box.desk.status()
        assert (status.stale, round(status.oldest / 86400)) == (3, 3)
        box.double.faults.down = False
        await box.sweep()
        assert (await box.desk.status()).stale == 0


async def test_a_snooze_has_an_end_to_come(tmp_path):
    """One that is over before it begins would be no answer at all."""
    dead = Fact(ONE, state="closed", closed_at=1_767_600_000.0)
    async with watched_box(tmp_path / "box", LIST, World.of(dead, Fact(TWO))) as box:
        await box.sweep()
        one = next(one for one in await box.kept() if one.decision.kind is DecisionKind.TRIGGER_DEAD)
        with pytest.raises(ConfigError, match="time to come"):
            await box.desk.answer(one.id, Standing.SNOOZED, ROOT, why="", until=box.clock.wall())
        until = box.clock.wall() + 3600
        assert (await box.desk.answer(one.id, Standing.SNOOZED, ROOT, why="", until=until)).standing == "snoozed"
        await box.sweep()
        assert (await box.kept())[0].standing is Standing.SNOOZED
        box.clock.ahead = 3601
        await box.sweep()
        assert next(kept for kept in await box.kept() if kept.id == one.id).standing is Standing.OPEN
        assert len([told for told in box.sink.of("watch_decision_opened") if told["decision"] == one.id]) == 2


@pytest.mark.parametrize("made", ["folder", "pipe", "huge", "gone", "barred"])
async def test_a_list_that_is_none_changes_nothing(tmp_path, made):
    """Nothing is learned and the reason is told; the next sweep of a good list goes on."""
    async with watched_box(tmp_path / "box", LIST, World.of(Fact(ONE), Fact(TWO))) as box:
        await box.sweep()
        before = await box.kept()
        box.file.unlink()
        match made:
            case "folder":
                box.file.mkdir()
            case "pipe":
                os.mkfifo(box.file)
            case "huge":
                box.file.write_bytes(LIST + b"#" * (8 << 20))
            case "barred":
                box.file.symlink_to("/proc/1/mem/none")
        swept = await box.sweep()
        assert (swept.outcome, str(box.file) in swept.summary["text"]) == ("failed", True)
        assert await box.kept() == before
        assert (await box.desk.status()).troubles
        box.file.rmdir() if made == "folder" else box.file.unlink(missing_ok=True)
        box.file.write_bytes(LIST)
        assert (await box.sweep()).outcome == "partial"
