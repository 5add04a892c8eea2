"""What changed lately: read from the newest on, within a budget, and nothing is left out for good."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.watch.model import State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.mark import parsed, written
from tests.helpers.fakegithub import Fact, Status, Truncated, World, synthetic
from tests.helpers.fakegithub.facts import EPOCH
from tests.helpers.upstream import asking

BOTH = pytest.mark.parametrize("token", [True, False], ids=["with a token", "without"])
DAY = 86400.0


def many(count: int) -> World:
    """Pull requests alone, each changed a minute after the one before."""
    return World.of(*(Fact(Ref(UPSTREAM, 1 + index), updated_at=EPOCH + 60 * index) for index in range(count)))


def numbers(recent) -> list[int]:
    return [pull.ref.number for pull in recent.pulls]


@BOTH
async def test_without_a_mark_the_newest_page_is_told(tmp_path, token):
    """The first look tells the newest pull requests, and leaves a mark."""
    async with asking(many(300), tmp_path, token=token) as around:
        recent = await around.sweep().recent(UPSTREAM, None, most=500)
        size = 50 if token else 100
        assert numbers(recent) == list(range(300, 300 - size, -1))
        assert recent.complete


@BOTH
async def test_only_what_changed_since_is_told(tmp_path, token):
    """From then on what changed is told, newest first, with its files, and what did not is not."""
    async with asking(many(300), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        world = around.double.world
        world.add(Fact(Ref(UPSTREAM, 900), updated_at=EPOCH + DAY, files=("vllm/a.py", "vllm/b.py")))
        world.change(Ref(UPSTREAM, 7), updated_at=EPOCH + DAY + 1, files=("vllm/c.py",))
        recent = await around.sweep().recent(UPSTREAM, mark, most=500)
        assert numbers(recent) == [7, 900]
        assert [pull.files for pull in recent.pulls] == [("vllm/c.py",), ("vllm/a.py", "vllm/b.py")]
        assert recent.complete
        assert numbers(await around.sweep().recent(UPSTREAM, recent.mark, most=500)) == []


@BOTH
async def test_an_unchanged_night_costs_one_free_request(tmp_path, token):
    """Where nothing changed, one request is answered by 304 and the mark stays."""
    async with asking(many(60), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        github, before = around.sweep(), around.double.count()
        recent = await github.recent(UPSTREAM, mark, most=500)
        assert (recent.pulls, recent.mark, recent.complete) == ((), mark, True)
        assert github.asked().requests == {"recent": 1}
        assert github.asked().unchanged == 1
        assert [request.status for request in around.double.requests[before:]] == [304]


@BOTH
async def test_who_died_before_keeping_the_mark_is_told_again(tmp_path, token):
    """The tag of the list is good for the mark that came with it alone."""
    async with asking(many(60), tmp_path, token=token) as around:
        first = await around.sweep().recent(UPSTREAM, None, most=500)
        around.double.world.change(Ref(UPSTREAM, 3), updated_at=EPOCH + DAY)
        lost = await around.sweep().recent(UPSTREAM, first.mark, most=500)
        assert numbers(lost) == [3]
        again = await around.sweep().recent(UPSTREAM, first.mark, most=500)
        assert numbers(again) == [3]


@BOTH
async def test_the_same_second(tmp_path, token):
    """What changed within the second of the mark, after it was made, is told with the next change at the latest."""
    async with asking(many(10), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        newest = EPOCH + 60 * 9
        around.double.world.change(Ref(UPSTREAM, 4), updated_at=newest)
        around.double.world.change(Ref(UPSTREAM, 5), updated_at=newest + 60)
        recent = await around.sweep().recent(UPSTREAM, mark, most=500)
        assert numbers(recent) == [5, 4]
        assert numbers(await around.sweep().recent(UPSTREAM, recent.mark, most=500)) == []


@BOTH
async def test_a_busy_day_is_told_late_and_whole(tmp_path, token):
    """More changes than the budget can read are told over the next nights, each of them, while new ones come first."""
    async with asking(many(400), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        world = around.double.world
        changed = set(range(1, 351))
        for number in sorted(changed):
            world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number)
        told: list[int] = []
        for night in range(10):
            fresh = 390 + night
            changed.add(fresh)
            world.change(Ref(UPSTREAM, fresh), updated_at=EPOCH + DAY * (night + 2))
            github = around.sweep(new_pulls={"pages": 3})
            recent = await github.recent(UPSTREAM, mark, most=1000)
            assert sum(github.asked().requests.values()) <= 3
            assert numbers(recent)[0] == fresh
            told += numbers(recent)
            mark = recent.mark
            if recent.complete:
                break
        assert set(told) == changed
        assert night >= 1, "it did not fit into one night"
        assert recent.complete
        assert numbers(await around.sweep().recent(UPSTREAM, mark, most=1000)) == []


@BOTH
async def test_no_more_than_asked_for(tmp_path, token):
    """At most so many are told at once, and the rest next time."""
    async with asking(many(60), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        for number in range(1, 31):
            around.double.world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number)
        told = []
        for most, complete in ((20, False), (20, True)):
            recent = await around.sweep().recent(UPSTREAM, mark, most=most)
            assert len(recent.pulls) <= most
            assert recent.complete is complete
            told += numbers(recent)
            mark = recent.mark
        assert told[:20] == list(range(30, 10, -1))
        assert set(told) == set(range(1, 31))


@BOTH
async def test_an_outage_is_no_news(tmp_path, token):
    """Without an answer there is none, not an empty one; the mark stays with the caller."""
    async with asking(many(10), tmp_path, token=token) as around:
        around.double.faults.down = True
        assert await around.sweep().recent(UPSTREAM, None, most=500) is None


@BOTH
async def test_an_outage_halfway(tmp_path, token):
    """What was read before the outage is told, and the rest comes the next time."""
    async with asking(many(300), tmp_path, token=token) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        for number in range(1, 221):
            around.double.world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number)
        around.double.faults.after = 3 if token else 1
        first = await around.sweep().recent(UPSTREAM, mark, most=500)
        assert not first.complete
        assert len(first.pulls) == 100
        around.double.faults.after = None
        second = await around.sweep(new_pulls={"pages": 20}).recent(UPSTREAM, first.mark, most=500)
        assert set(numbers(first) + numbers(second)) == set(range(1, 221))


@pytest.mark.parametrize("fault", [Status(502), Truncated(quietly=True)])
async def test_a_page_that_is_too_much_is_made_smaller(tmp_path, fault):
    """A page that does not come is asked for again with fewer entries, and that is remembered."""
    async with asking(many(60), tmp_path) as around:
        around.double.faults.next = [Status(200, "[]"), fault]
        recent = await around.sweep().recent(UPSTREAM, None, most=500)
        assert len(recent.pulls) == 25
        again = await around.sweep().recent(UPSTREAM, None, most=500)
        assert len(again.pulls) == 25


async def test_files_that_cannot_be_told_are_unknown(tmp_path):
    """An error about the files of one spoils neither the page nor the pull request."""
    async with asking(many(5), tmp_path) as around:
        around.double.faults.no_files = Ref(UPSTREAM, 3)
        recent = await around.sweep().recent(UPSTREAM, None, most=500)
        assert {pull.ref.number: pull.files for pull in recent.pulls} == {
            number: None if number == 3 else () for number in range(1, 6)
        }


async def test_one_that_is_too_much_holds_nobody_up(tmp_path):
    """A pull request whose files upstream chokes on is told without them, and what changed before it is told too."""
    async with asking(many(60), tmp_path) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        for number in range(1, 31):
            around.double.world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number)
        around.double.faults.heavy_files = Ref(UPSTREAM, 20)
        told = {}
        for _ in range(12):
            around.clock.now += DAY
            recent = await around.sweep().recent(UPSTREAM, mark, most=500)
            if recent is not None:
                told |= {pull.ref.number: pull.files for pull in recent.pulls}
                mark = recent.mark
        assert told == {number: None if number == 20 else () for number in range(1, 31)}
        assert recent.complete


async def test_a_place_that_is_no_longer_known(tmp_path):
    """Where upstream does not know the place of a gap, the list is paged up to it."""
    async with asking(many(300), tmp_path) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        for number in range(1, 121):
            around.double.world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number)
        first = await around.sweep(new_pulls={"pages": 3}).recent(UPSTREAM, mark, most=500)
        assert not first.complete
        kept = parsed(first.mark)
        lost = written(replace(kept, gap=replace(kept.gap, after="no place")))
        around.double.world.change(Ref(UPSTREAM, 299), updated_at=EPOCH + DAY * 2)
        second = await around.sweep().recent(UPSTREAM, lost, most=500)
        assert not second.complete
        third = await around.sweep().recent(UPSTREAM, second.mark, most=500)
        assert third.complete
        assert set(numbers(first) + numbers(second) + numbers(third)) == {*range(1, 121), 299}


async def test_a_list_of_many_files_is_not_cut(tmp_path):
    """Where more files changed than are told, none are: a part would be taken for the whole."""
    files = tuple(f"vllm/{number}.py" for number in range(101))
    for token in (True, False):
        world = World.of(Fact(Ref(UPSTREAM, 1), files=files), Fact(Ref(UPSTREAM, 2), files=files[:99]))
        async with asking(world, tmp_path, token=token) as around:
            recent = await around.sweep().recent(UPSTREAM, None, most=10)
            assert {pull.ref.number: pull.files for pull in recent.pulls} == {1: None, 2: files[:99]}


@pytest.mark.parametrize("body", ["5", '[{"number": 1}]', "[1]", "<html>"])
async def test_pages_that_make_no_sense(tmp_path, body):
    """Without a token: a page that cannot be read ends the look, and files that cannot be read are unknown."""
    async with asking(many(150), tmp_path, token=False) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        for number in range(1, 121):
            around.double.world.change(Ref(UPSTREAM, number), updated_at=EPOCH + DAY + number, files=("vllm/a.py",))
        around.double.faults.next = [None, Status(200, body)]
        first = await around.sweep(new_pulls={"pages": 2}).recent(UPSTREAM, mark, most=500)
        assert (len(first.pulls), first.complete) == (100, False)
        second = await around.sweep().recent(UPSTREAM, first.mark, most=500)
        assert set(numbers(first) + numbers(second)) == set(range(1, 121))
        around.double.world.change(Ref(UPSTREAM, 7), updated_at=EPOCH + DAY * 2)
        around.double.faults.next = [None, Status(200, body)]
        third = await around.sweep().recent(UPSTREAM, second.mark, most=500)
        assert [(pull.ref.number, pull.files) for pull in third.pulls] == [(7, None)]


async def test_a_repeated_answer_is_no_news(tmp_path):
    """A cache that repeats the list does not end the look early."""
    async with asking(many(10), tmp_path) as around:
        mark = (await around.sweep().recent(UPSTREAM, None, most=500)).mark
        around.double.world.change(Ref(UPSTREAM, 4), updated_at=EPOCH + DAY)
        around.double.faults.replay = True
        assert await around.sweep().recent(UPSTREAM, mark, most=500) is None


async def test_a_mark_that_cannot_be_read_starts_anew(tmp_path):
    """A broken mark is as none."""
    async with asking(many(10), tmp_path) as around:
        assert len((await around.sweep().recent(UPSTREAM, "?", most=500)).pulls) == 10


@BOTH
async def test_nothing_may_be_asked(tmp_path, token):
    """With no pages allowed nothing is asked."""
    async with asking(many(10), tmp_path, token=token) as around:
        assert await around.sweep(new_pulls={"pages": 0}).recent(UPSTREAM, None, most=5) is None
        assert around.double.count() == 0


@BOTH
async def test_every_sort_of_pull_request_is_told(tmp_path, token):
    """Merged, closed and open ones and drafts; issues are not among them."""
    async with asking(synthetic(10), tmp_path, token=token) as around:
        recent = await around.sweep().recent(UPSTREAM, None, most=500)
        assert {pull.state for pull in recent.pulls} == set(State)
        facts = around.double.world.facts
        assert {pull.ref for pull in recent.pulls} == {ref for ref, fact in facts.items() if not fact.is_issue}
        assert all(pull.head == facts[pull.ref].head for pull in recent.pulls)
        assert all(pull.merge_commit == facts[pull.ref].merge_commit for pull in recent.pulls)


@BOTH
async def test_a_budget_of_one_request_is_enough(tmp_path, token):
    """It goes to the list itself and not to its tag."""
    async with asking(many(60), tmp_path, token=token) as around:
        once = {"new_pulls": {"pages": 1}}
        mark = (await around.sweep(**once).recent(UPSTREAM, None, most=100)).mark
        around.double.world.change(Ref(UPSTREAM, 7), updated_at=EPOCH + DAY)
        github = around.sweep(**once)
        assert numbers(await github.recent(UPSTREAM, mark, most=100)) == [7]
        assert github.asked().requests == {"recent": 1}
