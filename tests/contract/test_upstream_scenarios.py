"""What upstream is known to do to those who ask it: half answers, limits of three sorts, questions that are too much."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from genesisd.store.store import Store
from genesisd.watch.model import State, WhyUnknown
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.gate import Gate
from tests.helpers.fakegithub import Refuse, Slow, Status, Truncated, synthetic
from tests.helpers.upstream import asking, pulls, unknown

ONE, TWO = Ref(UPSTREAM, 40001), Ref(UPSTREAM, 40002)
DAY = 86400.0


async def test_s4_a_batch_too_large_and_a_batch_half_answered(tmp_path):
    """S4: 502 above 20 aliases, and 200 with one null: halved, the good kept, the failed as before with its age."""
    store = None
    async with asking(synthetic(113), tmp_path) as around:
        try:
            store = Store.open(tmp_path / "genesisd.db", around.clock)
            around.facts = store.watch_facts
            await around.learn(around.refs)
            around.clock.now += DAY
            around.double.faults.heavy_above = 20
            around.double.faults.nulls[ONE] = "SERVICE_UNAVAILABLE"
            around.double.world.merge(ONE)
            around.double.world.merge(Ref(UPSTREAM, 40003))
            before = around.double.count()

            answers = await around.learn(around.refs)

            assert {ref: answer.why for ref, answer in unknown(answers).items()} == {ONE: WhyUnknown.PARTIAL}
            assert answers[Ref(UPSTREAM, 40003)].state is State.MERGED
            known = (await around.facts.known([ONE]))[ONE]
            assert known.pull.state is State.OPEN, "no answer is no news"
            assert known.age(around.clock.wall()) == pytest.approx(DAY, abs=60)
            assert known.unknown.why is WhyUnknown.PARTIAL
            sizes = [request.aliases for request in around.double.requests[before:]]
            assert sizes[:2] == [25, 12]
            assert sizes.count(25) == 1, "the lesson is learnt once"
            assert len(sizes) <= 13
        finally:
            if store is not None:
                store.close()


async def test_s5_one_gate_for_three_sorts_of_refusals(tmp_path):
    """S5: 403 with Retry-After, 429 with a spent hour, a bare 403: one gate, the right waits, and no hammering."""
    async with asking(synthetic(60), tmp_path) as around:
        github = around.sweep()
        pull = (await github.pulls([TWO]))[TWO]
        refusals = [Refuse(403, retry_after="7"), Refuse(429, resets_in=90, text=""), Refuse(403, text="Forbidden.")]
        around.double.faults.next = list(refusals)
        began, before = around.clock.now, around.double.count()

        answers, diff, recent = await asyncio.gather(
            github.pulls(around.refs), github.diff(pull), github.recent(UPSTREAM, None, most=10)
        )

        assert len(pulls(answers)) == 60
        assert diff is not None
        assert recent is not None
        assert around.clock.slept == pytest.approx([7, 91, 240], abs=1), "a bare one waits longer after two others"
        asked = around.double.requests[before:]
        assert [request.status for request in asked[:3]] == [403, 429, 403]
        waits = [round(later.at - one.at) for one, later in pairwise(asked[:4])]
        assert waits == [7, 91, 240]
        assert all(request.status == 200 for request in asked[3:])
        assert around.clock.now - began == pytest.approx(338, abs=2)


async def test_a_bare_refusal_waits_a_minute(tmp_path):
    """A 403 that names no time is left alone for at least a minute."""
    async with asking(synthetic(3), tmp_path) as around:
        around.double.faults.next = [Refuse(403, text="")]
        assert len(pulls(await around.sweep().pulls(around.refs))) == 3
        assert around.clock.slept == [60.0]


async def test_refusals_end_the_sweep(tmp_path):
    """Who is refused again and again stops asking, and everything is unknown until the limit's end."""
    async with asking(synthetic(60), tmp_path) as around:
        around.double.faults.next = [Refuse(429) for _ in range(50)]
        github = around.sweep()
        answers = await github.pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.LIMITED}
        assert "until 2026-" in answers[ONE].text
        assert around.double.count() == 5
        assert around.clock.slept == [60, 120, 240, 480]
        assert await github.recent(UPSTREAM, None, most=10) is None
        assert around.double.count() == 5


async def test_a_lack_of_permission_is_not_waited_for_for_ever(tmp_path):
    """The same bare 403 twice is no limit, and the other refs are asked for."""
    async with asking(synthetic(3), tmp_path, token=False) as around:
        around.double.faults.next = [Refuse(403, text="Resource not accessible.")] * 2
        answers = await around.sweep().pulls(around.refs)
        assert answers[ONE].why is WhyUnknown.BARRED
        assert len(pulls(answers)) == 2


async def test_a_long_limit_is_not_waited_for(tmp_path):
    """A sweep waits so long and no longer; what it could not ask is limited, with the time of the end."""
    async with asking(synthetic(3), tmp_path, patience=600.0) as around:
        around.double.faults.next = [Refuse(403, retry_after="86400")]
        answers = await around.sweep().pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.LIMITED}
        assert around.clock.slept == []
        assert around.double.count() == 1


async def test_a_spent_hour_is_waited_for_without_being_refused(tmp_path):
    """Without a token a watchlist takes more than the hour's sixty; the gate shuts before upstream has to."""
    async with asking(synthetic(100), tmp_path, token=False) as around:
        assert len(pulls(await around.sweep().pulls(around.refs))) == 100
        assert {request.status for request in around.double.requests} <= {200, 404}
        assert around.clock.slept == pytest.approx([3601], abs=1)


async def test_graphqls_own_limit_has_a_good_status(tmp_path):
    """RATE_LIMITED in a body of 200 shuts the gate until the hour's end."""
    async with asking(synthetic(60), tmp_path) as around:
        around.double.spend("graphql", resets_in=900)
        assert len(pulls(await around.sweep().pulls(around.refs))) == 60
        assert around.clock.slept == pytest.approx([901], abs=1)


async def test_a_gate_outlives_a_sweep(tmp_path):
    """The next sweep waits for what refused the last one."""
    async with asking(synthetic(3), tmp_path, patience=600.0) as around:
        around.settings["gate"] = Gate(around.clock, around.clock.sleep)
        around.double.faults.next = [Refuse(403, retry_after="3600")]
        await around.sweep().pulls(around.refs)
        around.clock.now += 3300
        assert len(pulls(await around.sweep().pulls(around.refs))) == 3
        assert around.clock.slept == [300]


@pytest.mark.parametrize("fault", [Truncated(), Truncated(quietly=True), Slow(), Status(504)])
async def test_a_broken_answer_is_halved(tmp_path, fault):
    """A body that breaks off, comes too slowly, or does not come is asked for again in two halves."""
    deadline = {"deadline": 3.0} if isinstance(fault, Slow) else {}
    async with asking(synthetic(20), tmp_path, **deadline) as around:
        around.double.faults.next = [fault]
        assert len(pulls(await around.sweep().pulls(around.refs))) == 20
        assert [request.aliases for request in around.double.requests] == [20, 10, 10]


async def test_limits_on_resources_are_halved(tmp_path):
    """A query that was too much by upstream's own word is asked for again in smaller ones."""
    async with asking(synthetic(50), tmp_path) as around:
        around.double.faults.exhausted_above = 10
        assert len(pulls(await around.sweep().pulls(around.refs))) == 50
        assert max(request.aliases for request in around.double.requests[4:]) <= 12


async def test_a_query_that_is_answered_up_to_a_point(tmp_path):
    """What was answered is kept, the rest is asked for in smaller queries, and the next ones are smaller at once."""
    async with asking(synthetic(50), tmp_path) as around:
        around.double.faults.exhausted_after = 15
        assert len(pulls(await around.sweep().pulls(around.refs))) == 50
        assert [request.aliases for request in around.double.requests] == [25, 10, 12, 12, 1]


async def test_the_size_is_remembered_and_grows_again(tmp_path):
    """What went through is where the next sweep starts; a day later twice as many are tried."""
    async with asking(synthetic(60), tmp_path) as around:
        around.double.faults.heavy_above = 20
        await around.learn(around.refs)

        async def sizes():
            before = around.double.count()
            assert len(pulls(await around.learn(around.refs))) == 60
            return [request.aliases for request in around.double.requests[before:]]

        assert await sizes() == [12] * 5
        around.clock.now += 3600
        assert await sizes() == [12] * 5
        around.clock.now += DAY
        assert (await sizes())[:3] == [24, 12, 12], "tried, and learnt again"
        around.double.faults.heavy_above = None
        around.clock.now += DAY
        assert await sizes() == [24, 24, 12]
        around.clock.now += DAY
        assert await sizes() == [25, 25, 10]


async def test_one_question_that_always_fails_does_not_slow_the_rest(tmp_path):
    """A single ref that upstream chokes on is found, and is the only one without an answer."""
    async with asking(synthetic(100), tmp_path) as around:
        around.double.faults.poison = Ref(UPSTREAM, 40007)
        answers = await around.learn(around.refs)
        assert {ref: answer.why for ref, answer in unknown(answers).items()} == {
            Ref(UPSTREAM, 40007): WhyUnknown.OUTAGE
        }
        assert around.double.count() <= 14
        before = around.double.count()
        await around.learn(around.refs)
        assert around.double.requests[before].aliases == 25, "it was not the size"


async def test_half_answers_are_asked_for_once_more(tmp_path):
    """What was null for no lasting reason is asked for once again, by itself."""
    async with asking(synthetic(20), tmp_path) as around:
        around.double.faults.nulls = {ONE: "SERVICE_UNAVAILABLE", TWO: None}
        github = around.sweep()
        answers = await github.pulls(around.refs)
        assert set(unknown(answers)) == {ONE, TWO}
        assert [request.aliases for request in around.double.requests] == [20, 2]


async def test_a_day_without_upstream(tmp_path):
    """Twenty-four hourly sweeps against nobody change nothing but the age."""
    async with asking(synthetic(30), tmp_path) as around:
        await around.learn(around.refs)
        before = await around.facts.known()
        around.double.faults.down = True
        around.double.world.merge(ONE)
        for _ in range(24):
            around.clock.now += 3600
            await around.learn(around.refs)
        after = await around.facts.known()
        assert {ref: known.pull for ref, known in after.items()} == {ref: known.pull for ref, known in before.items()}
        assert min(known.age(around.clock.wall()) for known in after.values()) >= DAY
        around.double.faults.down = False
        around.clock.now += 3600
        assert (await around.learn(around.refs))[ONE].state is State.MERGED
