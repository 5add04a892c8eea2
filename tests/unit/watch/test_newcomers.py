"""New pull requests are told once each, and none is lost to a bad night."""

from __future__ import annotations

import pytest

from genesisd.errors import UnavailableError
from genesisd.watch.model import PatchFact, Pin, Pull, State
from genesisd.watch.newcomers import Newcomers
from genesisd.watch.ports import Appraisal, Diff, Recent
from genesisd.watch.refs import Ref
from genesisd.watch.scoring import Interests
from genesisd.watch.spec import WatchSpec
from tests.fakes.watch_facts import MemoryFacts

FILE = "vllm/v1/core/sched/scheduler.py"
PATCHES = {"P62": PatchFact(id="P62", active=True, files=(FILE,))}
PINS = (Pin(id="now", version="1", slots=("current",), tree="/tree"),)


def pull(number, head="a", **more):
    return Pull(
        ref=Ref("vllm-project/vllm", number), state=State.OPEN, checked_at=0.0, head=head, files=(FILE,), **more
    )


class Told:
    """Upstream and the appraiser."""

    def __init__(self):
        self.pulls, self.marks, self.broken, self.complete = [pull(1)], [], False, True

    async def recent(self, repo, mark, *, most):
        self.marks.append(mark)
        return Recent(pulls=tuple(self.pulls), mark=f"m{len(self.marks)}", complete=self.complete)

    async def diff(self, pull):
        return Diff(pull.ref, pull.head, "/diff")

    async def appraise(self, pins, pulls, diffs, patches):
        if self.broken:
            raise UnavailableError("no memory")
        return Appraisal(content={}, collisions={(one.ref, pins[0].id): () for one in pulls})


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def find(told):
    newcomers = Newcomers(told, MemoryFacts(), told)

    async def night():
        found, trouble = await newcomers.find(WatchSpec(), frozenset(), PATCHES, Interests(), PINS)
        return [(one.pull.ref.number, one.collisions) for one in found], trouble

    return night


async def test_one_is_told_again_when_somebody_pushed_to_it(told, find):
    """And not for a label or a word: it would stand among the new ones every night."""
    assert await find() == ([(1, ())], "")
    told.pulls = [pull(1, title="another word")]
    assert await find() == ([], "")
    told.pulls = [pull(1, head="b")]
    assert await find() == ([(1, ())], "")
    assert told.marks == [None, "m1", "m2"]


async def test_what_could_not_be_looked_at_is_looked_at_later(told, find):
    """It is told at once and without collisions, not every night, and with them once that can be done."""
    told.broken = True
    found, trouble = await find()
    assert found == [(1, None)]
    assert "no memory" in trouble
    assert (await find())[0] == []
    told.broken = False
    assert await find() == ([(1, ())], "")
    assert told.marks == [None, None, None]
    await find()
    assert told.marks[-1] == "m3"


async def test_a_budget_that_ends_early_is_told_and_the_mark_moves(told, find):
    """The mark itself says what was left out."""
    told.complete = False
    found, trouble = await find()
    assert (found, "budget" in trouble) == ([(1, ())], True)
    await find()
    assert told.marks == [None, "m1"]
