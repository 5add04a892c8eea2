"""``genesisctl watch forget`` and wishes that nobody has any more: what goes, and what stays."""

from __future__ import annotations

import pytest

from genesisd.errors import ConflictError, NotFoundError
from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.model import State, WhyUnknown
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.wiring import watch_trials
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_life import TRIED, held
from tests.process.test_watch_nights import retiring
from tests.process.test_watch_sweep import LIST, ONE, ROOT, TWO, repo, until

__all__ = ["repo", "retiring"]
pytestmark = pytest.mark.process


async def test_what_is_forgotten_is_asked_as_if_it_never_was(retiring):
    """Answer, verdicts, dossier and diff go; decisions and what was said to them stay, and the next sweep knows again."""
    box = retiring
    (asked,) = [one for one in await box.kept() if one.decision.kind is DecisionKind.RETIRE_CANDIDATE]
    await box.desk.answer(asked.id, Standing.ACCEPTED, ROOT, why="in the next release")
    other = (await box.store.watch_facts.known())[TWO]
    before = await box.desk.show(ONE)
    assert (before.pull is None, len(before.pins), len(before.dossiers)) == (False, 1, 1)
    gone = await box.desk.forget(ONE, ROOT)
    assert (gone.ref, gone.answer, gone.pins, gone.dossiers, gone.diffs) == ("vllm#1", True, 1, 1, 1)
    after = await box.desk.show(ONE)
    assert (after.pull, after.pins, after.dossiers) == (None, (), ())
    assert (await box.store.watch_facts.known())[TWO] == other
    assert (asked.id, Standing.ACCEPTED) in [(one.id, one.standing) for one in await box.kept()]
    assert [one["verb"] for one in box.sink.of("order")] == ["watch-forget"]
    assert (await box.desk.forget(ONE, ROOT)).answer is False
    await box.sweep()
    again = await box.desk.show(ONE)
    assert (again.pull is None, again.pins) == (False, before.pins)


async def test_a_lie_that_was_believed_can_be_taken_back(tmp_path):
    """A merge is never taken back by itself: what contradicts it stays unknown until a person forgets it."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world) as box:
        truth = world.facts[ONE]
        world.merge(ONE)
        await box.sweep()
        world.add(truth)
        await box.sweep()
        known = (await box.store.watch_facts.known())[ONE]
        assert (known.pull.state, known.unknown.why) == (State.MERGED, WhyUnknown.CONTRADICTED)
        await box.desk.forget(ONE, ROOT)
        await box.sweep()
        known = (await box.store.watch_facts.known())[ONE]
        assert (known.pull.state, known.unknown) == (State.OPEN, None)
        assert box.file.read_bytes().count(b"status: open") == 2


async def test_nothing_is_forgotten_while_a_sweep_goes_on(tmp_path, monkeypatch):
    """It would keep again what it has in hand."""
    async with watched_box(tmp_path / "box", LIST, World.of(Fact(ONE), Fact(TWO))) as box:
        await box.sweep()
        with monkeypatch.context() as patched:
            gate = held(box, patched)
            await box.desk.sweep("nightly", ROOT)
            with pytest.raises(ConflictError, match="a sweep goes on"):
                await box.desk.forget(ONE, ROOT)
            gate.set()
            await until(lambda: box.watching.progress.going is None)
        with pytest.raises(NotFoundError):
            await box.desk.forget(Ref(UPSTREAM, 7), ROOT)
        assert box.sink.of("order")[0]["verb"] == "watch-sweep"


async def test_a_wish_for_a_trial_goes_with_its_decision(tmp_path):
    """Snoozed it waits, declined it is gone; and a row that is for something else now wants none."""
    world = World.of(Fact(ONE), Fact(TWO))
    world.merge(TWO)
    async with watched_box(tmp_path / "box", TRIED, world) as box:

        async def wishes():
            return list(await box.store.watch_facts.recall(watch_trials.KIND))

        await box.sweep()
        assert await wishes() == ["vllm#2:"]
        (trial,) = [one for one in await box.kept() if one.decision.kind is DecisionKind.TRIAL]
        await box.desk.answer(trial.id, Standing.SNOOZED, ROOT, why="", until=box.clock.wall() + 9e5)
        await box.sweep()
        assert await wishes() == ["vllm#2:"]
        await box.desk.answer(trial.id, Standing.DECLINED, ROOT, why="no such card")
        await box.sweep()
        assert await wishes() == []
