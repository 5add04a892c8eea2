"""Random nights: whatever upstream does, an answer is true at its time or there is none, and nothing goes back."""

from __future__ import annotations

import random

import pytest

from genesisd.watch.model import State
from tests.helpers.fakegithub import Faults, Refuse, Status, Truncated, World, synthetic
from tests.helpers.upstream import Asking, asking, pulls

ONCE = [
    None,
    None,
    Status(500),
    Status(502),
    Status(504, "<html>"),
    Status(404, "{}"),
    Status(410, "{}"),
    Status(200, ""),
    Status(200, "{}"),
    Status(200, "[]"),
    Status(204, ""),
    Refuse(403, retry_after="30"),
    Refuse(429, resets_in=300),
    Refuse(403, text="no"),
    Refuse(503, retry_after="5"),
    Truncated(),
    Truncated(quietly=True),
]


def change(world: World, dice: random.Random) -> None:
    """What people do in a day; what was merged stays so."""
    for ref in dice.sample(list(world.facts), 12):
        fact = world.facts[ref]
        if fact.is_issue or fact.state == "merged":
            world.change(ref, title=f"Another {dice.random()}")
            continue
        match dice.choice(["merge", "push", "close", "open"]):
            case "merge":
                world.merge(ref)
            case "push":
                world.force_push(ref)
            case "close":
                world.change(ref, state="closed", closed_at=fact.updated_at)
            case _:
                world.change(ref, state="open", closed_at=None)


def trouble(around: Asking, dice: random.Random, before: World) -> None:
    """Some of what can go wrong, for a night."""
    faults = around.double.faults = Faults()
    faults.next = [dice.choice(ONCE) for _ in range(dice.randrange(8))]
    faults.heavy_above = dice.choice([None, None, 20, 7, 1, 0])
    faults.exhausted_after = dice.choice([None, None, 10, 1])
    faults.nulls = {ref: dice.choice([None, "FORBIDDEN", "X"]) for ref in dice.sample(around.refs, dice.randrange(4))}
    faults.stale = before if dice.random() < 0.3 else None
    faults.replay = dice.random() < 0.2
    faults.down = dice.random() < 0.1
    faults.page = "<html>" if dice.random() < 0.1 else ""


@pytest.mark.parametrize("seed", range(24))
async def test_no_night_makes_anything_untrue(tmp_path, seed):
    """Eight nights of changes and faults: what is believed was so, and one good night makes everything right."""
    dice = random.Random(seed)
    token = seed % 2 == 0
    async with asking(synthetic(40), tmp_path, token=token, double={"anonymous": 5000}) as around:
        world = around.double.world
        been = {ref: {_seen(fact)} for ref, fact in world.facts.items()}
        known: dict = {}
        for _ in range(8):
            before = world.as_it_is()
            change(world, dice)
            for ref, fact in world.facts.items():
                been[ref].add(_seen(fact))
            trouble(around, dice, before)
            around.clock.now += 86400
            github = around.sweep(requests=dice.choice([20, 200]))
            if dice.random() < 0.3:  # the daemon is killed before it could keep what it was told
                await github.pulls(around.refs)
                continue
            answers = await around.learn(around.refs, github)
            assert set(answers) == set(around.refs)
            for ref, pull in pulls(answers).items():
                assert _told(pull) in been[ref], "it never was so"
            after = await around.facts.known()
            for ref, old in known.items():
                assert old.pull is None or after[ref].pull.updated_at >= old.pull.updated_at
                assert old.pull is None or old.pull.state is not State.MERGED or after[ref].pull.state is State.MERGED
            known = dict(after)
        around.double.faults = Faults()
        around.clock.now += 86400
        answers = await around.learn(around.refs)
        assert {ref: _told(pull) for ref, pull in pulls(answers).items()} == {
            ref: _seen(fact) for ref, fact in world.facts.items()
        }


def _seen(fact) -> tuple:
    return fact.state, fact.updated_at, fact.head or None


def _told(pull) -> tuple:
    return pull.state.value, pull.updated_at, pull.head
