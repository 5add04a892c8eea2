"""What lands between the look at a thing and the word about it: refused whole, and never half done."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
import yaml

from genesisd.errors import ConflictError, UnavailableError
from genesisd.watch.decisions import DecisionKind, Standing
from genesisd.watch.model import State
from tests.helpers.fakegithub import World
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.watched_box import watched_box
from tests.process.test_watch_nights import candidate, retiring
from tests.process.test_watch_sweep import LIST, ONE, ROOT, TWO, pins, repo, tree, until

__all__ = ["repo", "retiring"]
pytestmark = pytest.mark.process


def before_it_is_kept(box, monkeypatch, lands):
    """``lands`` happens when all about an answer was looked at, and the store is about to take it."""
    answer = box.store.watch_decisions.answer

    async def late(*asked, **said):
        await lands()
        return await answer(*asked, **said)

    monkeypatch.setattr(box.store.watch_decisions, "answer", late)


def without_dossiers(box, monkeypatch):
    """Sweeps look into pins, and none comes to a dossier."""
    make = box.watching.grounds.appraiser

    def appraiser():
        made = make()
        made.dossier = vain
        return made

    async def vain(*_):
        raise UnavailableError("no memory")

    monkeypatch.setattr(box.watching.grounds, "appraiser", appraiser)


async def refused(box, match):
    """The retirement is, and is open as before: nothing was kept and nothing told."""
    id_, _ = await candidate(box)
    with pytest.raises(ConflictError, match=match) as caught:
        await box.desk.answer(id_, Standing.ACCEPTED, ROOT, why="gone upstream")
    kept = next(one for one in await box.kept() if one.id == id_)
    assert (kept.by, kept.why) == ("", "")
    assert not box.sink.of("watch_decision_answered")
    return kept, caught.value.hint


async def test_a_sweep_that_brings_another_pin_is_looked_at_first(retiring, repo, monkeypatch):
    """It lands while a retirement is accepted: no dossier lies before what is given up there, and with one it is taken."""
    head = repo.git("rev-parse", "HEAD").strip()

    async def lands():
        tree(retiring.folder, "0.33.0", repo, head)
        declared = pins(now=("0.32.0", head, ["current"]), next=("0.33.0", head, ["candidate"]))
        (retiring.folder / "pins.yaml").write_text(yaml.safe_dump(declared))
        await retiring.sweep()

    with monkeypatch.context() as patched:
        without_dossiers(retiring, patched)
        before_it_is_kept(retiring, patched, lands)
        kept, hint = await refused(retiring, "give up P62 on next, and no dossier lies before it")
    assert (kept.standing, {*kept.decision.pins}) == (Standing.OPEN, {"now", "next"})
    assert hint == "genesisctl watch diff vllm#1 makes one"
    await retiring.desk.dossiers(ONE, "P62", None, anew=False)
    given = await retiring.desk.answer(kept.id, Standing.ACCEPTED, ROOT, why="gone upstream")
    assert (given.standing, {*given.pins}) == ("accepted", {"now", "next"})


async def test_a_sweep_that_takes_the_question_back_is_believed(retiring, monkeypatch):
    """It lands while a retirement is accepted, and nobody is asked any more."""

    async def lands():
        text = retiring.file.read_text().replace("action: retire", "action: watch")
        retiring.file.write_text(text.replace("trigger: retire-on-merge", "trigger: review-on-merge"))
        await retiring.sweep()

    before_it_is_kept(retiring, monkeypatch, lands)
    kept, _ = await refused(retiring, "has passed: the facts no longer ask for it")
    assert kept.standing is Standing.PASSED


async def test_what_is_forgotten_meanwhile_lies_before_nobody(retiring, monkeypatch):
    """The dossier went while the retirement was accepted."""

    async def lands():
        await retiring.desk.forget(ONE, ROOT)

    before_it_is_kept(retiring, monkeypatch, lands)
    kept, _ = await refused(retiring, "no dossier lies before it")
    assert kept.standing is Standing.OPEN


async def test_a_dossier_that_was_begun_before_is_not_kept(retiring, monkeypatch):
    """What it is made of was forgotten, or pushed anew and swept, by the time it is done."""
    make = retiring.watching.grounds.appraiser
    held = []

    def appraiser():
        made = make()
        ask = made.dossier

        async def dossier(*asked):
            while held:
                await held.pop()()
            return await ask(*asked)

        made.dossier = dossier
        return made

    async def pushed():
        retiring.double.world.force_push(ONE, retiring.double.world.facts[ONE].diff)
        await retiring.sweep()

    async def forgotten():
        await retiring.desk.forget(ONE, ROOT)

    monkeypatch.setattr(retiring.watching.grounds, "appraiser", appraiser)
    (old,) = await retiring.store.watch_decisions.dossiers()
    held.append(pushed)
    with pytest.raises(UnavailableError, match="was forgotten, or has other commits, since"):
        await retiring.desk.dossiers(ONE, "P62", "now", anew=True)
    (new,) = await retiring.store.watch_decisions.dossiers()
    assert new.head == retiring.double.world.facts[ONE].head != old.head
    held.append(forgotten)
    with pytest.raises(UnavailableError, match="vllm#1 was forgotten, or has"):
        await retiring.desk.dossiers(ONE, "P62", "now", anew=True)
    assert await retiring.store.watch_decisions.dossiers() == ()


async def test_a_sweep_waits_for_what_is_being_forgotten(tmp_path, monkeypatch):
    """Begun in the middle of it, it would judge its answer by the lie that is on its way out, and keep the lie."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world) as box:
        truth = world.facts[ONE]
        world.merge(ONE)
        await box.sweep()
        world.add(truth)
        gate, forget = asyncio.Event(), box.store.watch_facts.forget

        async def slow(ref):
            await gate.wait()
            return await forget(ref)

        monkeypatch.setattr(box.store.watch_facts, "forget", slow)
        forgetting = asyncio.create_task(box.desk.forget(ONE, ROOT))
        await until(box.watching.turn.locked)
        asked, sweep = len(box.double.requests), asyncio.create_task(box.sweep())
        await until(lambda: box.watching.progress.going is not None)
        with pytest.raises(ConflictError, match="a sweep goes on"):
            await box.desk.forget(TWO, ROOT)
        for _ in range(200):
            await asyncio.sleep(0.001)
        assert len(box.double.requests) == asked
        gate.set()
        await forgetting
        await sweep
        known = (await box.store.watch_facts.known())[ONE]
        assert (known.pull.state, known.unknown) == (State.OPEN, None)


async def test_what_was_cut_off_can_be_forgotten_again(tmp_path, monkeypatch):
    """A daemon that ends in the middle leaves the answer, by which the rest is found, though no row names it."""
    world = World.of(Fact(ONE), Fact(TWO))
    async with watched_box(tmp_path / "box", LIST, world) as box:
        await box.sweep()
        box.file.write_bytes(LIST[LIST.index(b"- upstream: vllm#2") :].join((b"watch:\n", b"")).split(b"sweep:")[0])
        box.file.write_bytes(box.file.read_bytes() + b"sweep: []\n__sentinel__: complete\n")
        with monkeypatch.context() as patched:

            async def killed(_kind, _values):
                raise UnavailableError("the end")

            patched.setattr(box.store.watch_facts, "note", killed)
            with pytest.raises(UnavailableError):
                await box.desk.forget(ONE, ROOT)
        assert (await box.desk.forget(ONE, ROOT)).answer
        assert ONE not in await box.store.watch_facts.known()


async def test_what_comes_true_while_a_no_is_given_opens_it_again(tmp_path, monkeypatch):
    """Another configuration is taken over between the look at the predicate and the keeping of the answer."""
    dead = Fact(ONE, state="closed", closed_at=1_767_600_000.0)
    async with watched_box(tmp_path / "box", LIST, World.of(dead, Fact(TWO)), workers={"w": {"sm": 86}}) as box:
        await box.sweep()
        one = next(one for one in await box.kept() if one.decision.kind is DecisionKind.TRIGGER_DEAD)

        async def lands():
            box.workers.told["w"] = {"sm": 90}
            await box.watching.reconfigured()

        before_it_is_kept(box, monkeypatch, lands)
        said = {"why": "not on this card", "revisit_when": ["gpu.sm >= 89"]}
        await box.desk.answer(one.id, Standing.DECLINED, ROOT, **said)
        kept = next(kept for kept in await box.kept() if kept.id == one.id)
        assert (kept.standing, kept.why) == (Standing.OPEN, "not on this card")


async def test_an_older_look_at_predicates_takes_no_newer_one_back(tmp_path, monkeypatch):
    """Two look at once: the one that knows of less ends first, whichever began first."""
    dead = Fact(ONE, state="closed", closed_at=1_767_600_000.0)
    async with watched_box(tmp_path / "box", LIST, World.of(dead, Fact(TWO)), workers={"w": {"sm": 86}}) as box:
        await box.sweep()
        one = next(one for one in await box.kept() if one.decision.kind is DecisionKind.TRIGGER_DEAD)
        gate, facts = asyncio.Event(), box.workers.facts
        told = []

        async def slow():
            told.append(None)
            if len(told) == 1:
                await gate.wait()
            return await facts()

        other = replace(one.decision, key="another", row="")
        await box.store.watch_decisions.meet([other], 1.0, covers=["none"])
        first, second = one.id, next(kept.id for kept in await box.kept() if kept.decision.key == "another")
        answer = box.store.watch_decisions.answer
        more = {"by": "root", "why": "", "until": None}
        await answer(first, Standing.DECLINED, revisit_when=["gpu.sm >= 100"], **more)
        monkeypatch.setattr(box.workers, "facts", slow)
        looks = [asyncio.create_task(box.watching.refresh(anew=True))]
        await until(lambda: told)
        await answer(second, Standing.DECLINED, revisit_when=["gpu.sm >= 89"], **more)
        box.workers.told["w"] = {"sm": 90}
        looks.append(asyncio.create_task(box.watching.refresh(anew=True)))
        for _ in range(50):
            await asyncio.sleep(0.001)
        gate.set()
        await asyncio.gather(*looks)
        await box.watching.refresh()
        assert box.store.watch_decisions.is_true("gpu.sm >= 89")
        assert {kept.standing for kept in await box.kept() if kept.id == second} == {Standing.OPEN}
