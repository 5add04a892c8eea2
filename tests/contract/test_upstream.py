"""What upstream's client promises to the watch, with a token (GraphQL) and without one (REST)."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace

import pytest

from genesisd.store.store import Store
from genesisd.watch.model import Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources import calls
from tests.helpers.fakegithub import TOKEN, Fact, Status, World, synthetic
from tests.helpers.fakegithub.facts import EPOCH, from_fixture
from tests.helpers.upstream import asking, pulls, unknown

ONE, TWO = Ref(UPSTREAM, 40001), Ref(UPSTREAM, 40002)
BOTH = pytest.mark.parametrize("token", [True, False], ids=["with a token", "without"])


@BOTH
async def test_every_fact_arrives(tmp_path, token):
    """Each ref is answered once, with what upstream knows of it, whichever interface is used."""
    async with asking(synthetic(20), tmp_path, token=token) as around:
        answers = await around.sweep().pulls(around.refs)
        for fact in around.double.world.facts.values():
            assert answers[fact.ref] == Pull(
                ref=fact.ref,
                state=State(fact.state),
                checked_at=answers[fact.ref].checked_at,
                is_issue=fact.is_issue,
                title=fact.title,
                draft=fact.draft,
                base="" if fact.is_issue else fact.base,
                head=fact.head or None,
                merge_commit=fact.merge_commit,
                merged_at=fact.merged_at,
                closed_at=fact.closed_at,
                updated_at=fact.updated_at,
                created_at=fact.created_at,
                labels=fact.labels,
            )
            assert around.clock.wall() - 4000 < answers[fact.ref].checked_at <= around.clock.wall()


@BOTH
async def test_what_is_not_there_is_unknown(tmp_path, token):
    """A number, a repository or a name that upstream does not have is unknown, and the others are answered."""
    missing = (Ref(UPSTREAM, 7), Ref("nobody/nothing", 1), Ref("../etc", 1), Ref("a/..", 2), Ref("-a/c", 3))
    async with asking(synthetic(3), tmp_path, token=token) as around:
        answers = await around.sweep().pulls((*missing, *around.refs, ONE))
        assert {ref: answers[ref].why for ref in missing} == dict.fromkeys(missing, WhyUnknown.NOT_FOUND)
        assert set(pulls(answers)) == set(around.refs)
        assert list(answers) == [*missing, *around.refs]


async def test_nothing_asked_is_nothing_sent(tmp_path):
    """No refs, no requests."""
    async with asking(synthetic(3), tmp_path) as around:
        assert await around.sweep().pulls(()) == {}
        assert around.double.count() == 0


async def test_a_question_fits_the_budget(tmp_path):
    """The rows of a whole watchlist cost five requests, and no more on a night when nothing changed."""
    async with asking(synthetic(113), tmp_path) as around:
        for _ in range(2):
            github = around.sweep()
            assert len(pulls(await around.learn(around.refs, github))) == 113
            assert github.asked().requests == {"rows": 5}
        assert around.clock.slept == []


async def test_refs_of_many_repositories_share_a_request(tmp_path):
    """One request asks about several repositories."""
    world = World.of(*(Fact(Ref(f"owner/repo-{number}", number)) for number in range(1, 11)))
    async with asking(world, tmp_path) as around:
        assert len(pulls(await around.sweep().pulls(around.refs))) == 10
        assert around.double.count() == 1


@pytest.mark.parametrize(("status", "why"), [(410, WhyUnknown.GONE), (451, WhyUnknown.BARRED)])
async def test_what_was_taken_away_is_unknown(tmp_path, status, why):
    """Gone and barred say nothing about the pull request."""
    world = synthetic(3)
    world.gone[ONE] = status
    async with asking(world, tmp_path, token=False) as around:
        answers = await around.sweep().pulls(around.refs)
        assert answers[ONE].why is why
        assert len(pulls(answers)) == 2


async def test_a_ref_that_may_not_be_seen_is_barred(tmp_path):
    """GraphQL's FORBIDDEN is a lack of permission, and not asked again."""
    async with asking(synthetic(3), tmp_path) as around:
        around.double.faults.nulls[ONE] = "FORBIDDEN"
        answers = await around.sweep().pulls(around.refs)
        assert answers[ONE].why is WhyUnknown.BARRED
        assert around.double.count() == 1


@BOTH
async def test_a_move_is_followed(tmp_path, token):
    """A renamed repository answers under its new name, each time."""
    world = World.of(Fact(Ref("old/name", 5), head="a" * 40), Fact(Ref("old/name", 6), is_issue=True))
    world.renames["old/name"] = "new/name"
    async with asking(world, tmp_path, token=token) as around:
        for _ in range(2):
            answers = await around.learn(around.refs)
            assert {answer.now_at for answer in answers.values()} == {Ref("new/name", 5), Ref("new/name", 6)}
        assert around.told == []


async def test_another_spelling_is_no_move(tmp_path):
    """Upstream does not mind the case of names, and neither do we."""
    world = World.of(Fact(Ref("owner/name", 5)))
    world.renames["Owner/Name"] = "owner/name"
    async with asking(world, tmp_path) as around:
        answer = (await around.sweep().pulls([Ref("Owner/Name", 5)]))[Ref("Owner/Name", 5)]
        assert answer.now_at is None
        assert around.told == []


async def test_a_move_to_another_host_is_not_followed(tmp_path):
    """Neither questions nor the token go to another host, whatever an answer says."""
    async with asking(synthetic(1), tmp_path, token=False) as here, asking(synthetic(1), tmp_path) as there:
        here.double.faults.moved = f"{there.double.url}/repos/{UPSTREAM}/pulls/{ONE.number}"
        answers = await here.sweep().pulls([ONE])
        assert answers[ONE].why is WhyUnknown.NOT_FOUND
        assert there.double.count() == 0


async def test_moves_in_a_circle_end(tmp_path):
    """A move that leads back to itself is given up."""
    async with asking(synthetic(1), tmp_path, token=False) as around:
        around.double.faults.moved = f"/repos/{UPSTREAM}/pulls/{ONE.number}"
        assert (await around.sweep().pulls([ONE]))[ONE].why is WhyUnknown.NOT_FOUND
        assert around.double.count() < 10


async def test_a_trial_merge_is_no_merge(tmp_path):
    """REST names a trial merge's commit for open pull requests: it is on no branch."""
    async with asking(World.of(Fact(ONE)), tmp_path, token=False) as around:
        assert (await around.sweep().pulls([ONE]))[ONE].merge_commit is None


@BOTH
async def test_an_outage_is_unknown_and_soon_over(tmp_path, token):
    """Where nobody answers, every ref is unknown after a few requests, and what was known stays."""
    async with asking(synthetic(60), tmp_path, token=token, double={"anonymous": 5000}) as around:
        await around.learn(around.refs)
        before, github = await around.facts.known(), around.sweep()
        around.double.faults.down = True
        answers = await around.learn(around.refs, github)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.OUTAGE}
        assert github.asked().requests["rows"] <= 6
        after = await around.facts.known()
        assert all(after[ref].pull == before[ref].pull and after[ref].unknown for ref in around.refs)


async def test_nobody_listens(tmp_path):
    """A refused connection is an outage."""
    async with asking(synthetic(3), tmp_path) as around:
        github = around.sweep(api="http://127.0.0.1:9")
        assert {answer.why for answer in (await github.pulls(around.refs)).values()} == {WhyUnknown.OUTAGE}
        assert await github.recent(UPSTREAM, None, most=10) is None


async def test_a_single_failure_is_asked_again(tmp_path):
    """One broken answer of REST costs one more request, not the ref."""
    async with asking(synthetic(3), tmp_path, token=False) as around:
        around.double.faults.next.append(Status(502))
        assert len(pulls(await around.sweep().pulls(around.refs))) == 3
        assert around.double.count() == 4


@BOTH
async def test_a_lying_cache_changes_nothing(tmp_path, token):
    """An old answer with today's date is told from a new one, and what was known stays."""
    async with asking(synthetic(10), tmp_path, token=token) as around:
        before = around.double.world.as_it_is()
        await around.learn(around.refs)
        around.double.world.merge(ONE)
        around.double.world.change(TWO, title="Another")
        assert (await around.learn(around.refs))[ONE].state is State.MERGED
        around.double.faults.stale = before
        answers = await around.learn(around.refs)
        assert {ref: answer.why for ref, answer in unknown(answers).items()} == {
            ONE: WhyUnknown.CONTRADICTED,
            TWO: WhyUnknown.CONTRADICTED,
        }
        known = await around.facts.known()
        assert known[ONE].pull.state is State.MERGED
        assert known[TWO].pull.title == "Another"
        around.double.faults.stale = None
        assert unknown(await around.learn(around.refs)) == {}


async def test_an_answer_to_another_question_is_no_answer(tmp_path):
    """A cache that repeats an answer to GraphQL is noticed even where nothing in it contradicts what is known."""
    async with asking(synthetic(10), tmp_path) as around:
        await around.learn(around.refs)
        around.double.faults.replay = True
        answers = await around.learn(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.OUTAGE}
        assert any("cache" in answer.text for answer in answers.values())


async def test_a_cache_that_tells_its_age_is_believed_that_far(tmp_path):
    """An answer counts from when it was made, not from when it came."""
    async with asking(synthetic(1), tmp_path, token=False) as around:
        around.double.extra = {"Age": "7200"}
        assert (await around.sweep().pulls([ONE]))[ONE].checked_at == around.clock.wall() - 7200


async def test_the_unchanged_is_told_by_304(tmp_path):
    """Without a token, a ref that has not changed costs a request and no reading, and counts as seen now."""
    async with asking(synthetic(10), tmp_path, token=False) as around:
        await around.learn(around.refs)
        around.clock.now += 86400
        github = around.sweep()
        answers = await around.learn(around.refs, github)
        assert github.asked().unchanged == 10
        assert github.asked().requests == {"rows": 10}
        assert {answer.checked_at for answer in answers.values()} == {around.clock.wall()}


async def test_a_tag_without_its_answer_is_not_used(tmp_path):
    """A daemon killed after the tag and before the answer was kept must not take 304 for what it still has."""
    async with asking(synthetic(1), tmp_path, token=False) as around:
        await around.learn([ONE])
        around.double.world.merge(ONE)
        await around.sweep().pulls([ONE])  # and killed: nothing is learnt
        assert (await around.learn([ONE]))[ONE].state is State.MERGED


async def test_a_304_that_nobody_asked_for_confirms_nothing(tmp_path):
    """Without a tag in the question it says only that something in between is broken: the row grows old."""
    async with asking(synthetic(1), tmp_path, token=False) as around:
        around.double.extra = {"ETag": ""}
        before = (await around.learn([ONE]))[ONE].checked_at
        around.clock.now += 86400
        around.double.faults.next = [Status(304)]
        told = (await around.learn([ONE]))[ONE]
        assert (told.why, "without a tag" in told.text) == (WhyUnknown.OUTAGE, True)
        assert (await around.facts.known([ONE]))[ONE].pull.checked_at == before
        assert await around.sweep().recent(ONE.repo, None, most=10) is not None
        around.double.faults.next = [Status(304)]
        assert await around.sweep().recent(ONE.repo, None, most=10) is None


async def test_brackets_without_end_are_no_answer(tmp_path):
    """A body that nests deeper than can be read is one that cannot be read."""
    async with asking(synthetic(1), tmp_path) as around:
        around.double.faults.page = "[" * 100_000
        assert (await around.learn([ONE]))[ONE].why is WhyUnknown.OUTAGE


async def test_what_the_budget_leaves_out_comes_first_next_time(tmp_path):
    """Refs that had no turn are unknown for that reason, and the next sweep asks about them first."""
    async with asking(synthetic(30), tmp_path, token=False) as around:
        first = await around.learn(around.refs, around.sweep(requests=20))
        late = set(unknown(first))
        assert {answer.why for answer in unknown(first).values()} == {WhyUnknown.NOT_ASKED}
        assert 10 < len(late) < 20
        second = await around.learn(around.refs, around.sweep(requests=20))
        assert late <= set(pulls(second))


async def test_a_new_token_is_read_at_once(tmp_path):
    """The token's file is read again when it changes; a refused one is sent once and no more."""
    async with asking(synthetic(60), tmp_path) as around:
        github = around.sweep()
        around.double.token = "ghp_the_next_one"
        answers = await github.pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.BARRED}
        assert around.double.count() == 1
        assert around.told == ["the token was refused: renew it"]
        assert github.token_problem == "the token was refused: renew it"
        (tmp_path / "token").write_text("ghp_the_next_one\n")
        assert len(pulls(await github.pulls(around.refs))) == 60
        assert github.token_problem == ""


async def test_who_must_have_a_token_is_asked_once(tmp_path):
    """An upstream that answers nobody without a token is not asked by the row."""
    async with asking(synthetic(60), tmp_path, token=False) as around:
        around.double.faults.next = [Status(401, "") for _ in range(60)]
        github = around.sweep()
        answers = await github.pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.BARRED}
        assert around.double.count() == 1
        assert around.told == ["upstream wants a token"]


async def test_a_wrong_address_is_no_news_of_any_row(tmp_path):
    """Where there is no interface at all, the rows are unknown for that reason, and not for being absent."""
    async with asking(synthetic(3), tmp_path) as around:
        answers = await around.sweep(api=f"{around.double.url}/wrong").pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.OUTAGE}
        assert "watch.api" in answers[ONE].text


async def test_a_token_that_cannot_be_read_is_told_once(tmp_path):
    """Without the declared token it works slower, and people hear of it once a sweep."""
    async with asking(synthetic(3), tmp_path) as around:
        (tmp_path / "token").write_text("")
        github = around.sweep()
        assert "expected one token" in github.token_problem
        for _ in range(2):
            assert len(pulls(await github.pulls(around.refs))) == 3
        assert len(around.told) == 1
        assert not any(request.with_token for request in around.double.requests)


@BOTH
async def test_a_page_from_something_in_between(tmp_path, token):
    """A page of a proxy's with a good status is no answer: few of them are asked for, and nothing is kept."""
    async with asking(synthetic(60), tmp_path, token=token, double={"anonymous": 5000}) as around:
        pull = (await around.sweep().pulls([ONE]))[ONE]
        around.double.faults.page = "<html>Please log in</html>\n"
        github = around.sweep()
        answers = await github.pulls(around.refs)
        assert {answer.why for answer in answers.values()} == {WhyUnknown.OUTAGE}
        assert github.asked().requests["rows"] <= 6
        around.clock.now += 600
        assert await around.sweep().diff(pull) is None
        assert await around.sweep().recent(UPSTREAM, None, most=5) is None


@pytest.mark.parametrize("body", ["[]", "5", "null", "{}", '{"number": 40001}', '{"number": 7, "state": "open"}'])
@BOTH
async def test_answers_that_make_no_sense(tmp_path, token, body):
    """JSON that is no pull request is no answer about one."""
    async with asking(synthetic(3), tmp_path, token=token) as around:
        around.double.faults.page = body
        github = around.sweep()
        assert {answer.why for answer in (await github.pulls(around.refs)).values()} == {WhyUnknown.OUTAGE}
        around.clock.now += 600
        assert await around.sweep().recent(UPSTREAM, None, most=5) is None or body == "[]"


async def test_an_answer_without_end(tmp_path, monkeypatch):
    """An answer is read up to a limit, so that nobody can fill the daemon's memory."""
    monkeypatch.setattr(calls, "MOST_BYTES", 4000)
    async with asking(synthetic(25), tmp_path) as around:
        answers = await around.sweep().pulls(around.refs)
        assert len(pulls(answers)) == 25
        assert max(len(body) for _, body in around.double.bodies) > 4000


async def test_a_company_of_its_own(tmp_path):
    """Under a company's own address the interfaces are in other places."""
    async with asking(synthetic(3), tmp_path) as around:
        github = around.sweep(api=f"{around.double.url}/api/v3/")
        answers = await github.pulls(around.refs)
        assert len(pulls(answers)) == 3
        assert await github.diff(answers[ONE]) is not None
        assert [request.path.split("?")[0] for request in around.double.requests] == [
            "/api/graphql",
            f"/api/v3/repos/{UPSTREAM}/compare/main...{answers[ONE].head}",
        ]


async def test_the_token_is_in_no_message(tmp_path, caplog):
    """Neither logs nor answers nor representations hold the token, whatever goes wrong."""
    caplog.set_level(logging.DEBUG)
    async with asking(synthetic(3), tmp_path) as around:
        github = around.sweep()
        told = [repr(github.__dict__), repr(await github.pulls(around.refs))]
        for fault in ({"down": True}, {"heavy_above": 0}, {"replay": True}):
            vars(around.double.faults).update(down=False, heavy_above=None, replay=False)
            vars(around.double.faults).update(fault)
            told.append(repr(await around.sweep().pulls(around.refs)))
        around.double.token = "another-one"
        told.append(repr(await around.sweep().pulls(around.refs)))
        told += [repr(vars(value)) for value in vars(github).values() if hasattr(value, "__dict__")]
    seen = "\n".join((*told, caplog.text, *around.told)).replace("_Token__value': '" + TOKEN, "")
    assert TOKEN not in seen
    assert any(request.with_token for request in around.double.requests)


async def test_it_works_on_the_store_itself(tmp_path):
    """With the store's own facts: a sweep, a restart, and a sweep that changes nothing."""
    async with asking(synthetic(12), tmp_path, token=False) as around:
        for turn in range(2):
            store = Store.open(tmp_path / "genesisd.db", around.clock)
            try:
                around.facts = store.watch_facts
                github = around.sweep()
                assert len(pulls(await around.learn(around.refs, github))) == 12
                assert github.asked().unchanged == (12 if turn else 0)
            finally:
                store.close()


async def test_two_at_once_wait_for_each_other(tmp_path):
    """Requests of one client never overlap."""
    async with asking(synthetic(60), tmp_path) as around:
        github = around.sweep()
        one, two = await asyncio.gather(github.pulls(around.refs[:30]), github.pulls(around.refs[30:]))
        assert len(pulls(one | two)) == 60
        assert around.double.most_at_once == 1


async def test_the_facts_of_a_file_are_served(tmp_path):
    """A file of public facts makes a world; what it does not know for certain is not there."""
    import json

    rows = [
        {
            "number": 1,
            "state": "merged",
            "kind": "pull_request",
            "merged_at": "2026-06-12",
            "merge_commit": "0cd9b7af25",
        },
        {"number": 2, "state": "open", "kind": "issue", "created_at": "2026-05-01"},
        {"number": 3, "state": "closed", "kind": "pull_request", "state_confidence": "low"},
        {"number": 4, "state": None, "kind": None},
        {"number": 5, "state": "merged", "kind": "pull_request"},
    ]
    empty = "created_at closed_at merged_at evidence_date corpus_latest_visible_date title labels files merge_commit"
    usual = dict.fromkeys(empty.split()) | {"repo": UPSTREAM, "state_confidence": "high"}
    path = tmp_path / "facts.json"
    path.write_text(json.dumps([usual | row for row in rows]))
    refs = [Ref(UPSTREAM, number) for number in range(1, 6)]
    for token in (True, False):
        async with asking(from_fixture(path), tmp_path, token=token) as around:
            answers = await around.sweep().pulls(refs)
            assert [getattr(answers[ref], "state", None) for ref in refs] == ["merged", "open", None, None, "merged"]
            assert answers[refs[0]].merge_commit == "0cd9b7af25"
            assert answers[refs[1]].is_issue
            assert isinstance(answers[refs[2]], Unanswered)
            assert answers[refs[4]].merged_at is None


@BOTH
async def test_the_course_of_a_pull_request(tmp_path, token):
    """Opened, pushed to, closed, opened again and merged: each sweep tells the state of its time."""
    async with asking(World.of(replace(Fact(ONE), updated_at=EPOCH)), tmp_path, token=token) as around:
        world, seen = around.double.world, []
        for step in (
            lambda: None,
            lambda: world.force_push(ONE),
            lambda: world.change(ONE, state="closed", closed_at=EPOCH),
            lambda: world.change(ONE, state="open", closed_at=None),
            lambda: world.merge(ONE),
        ):
            step()
            answer = (await around.learn([ONE]))[ONE]
            assert answer.head == world.facts[ONE].head
            seen.append(answer.state.value)
        assert seen == ["open", "open", "closed", "open", "merged"]


@pytest.mark.parametrize("token", [True, False], ids=["with a token", "without"])
async def test_what_is_never_found_does_not_starve_the_others(tmp_path, token):
    """A budget that is too small for all goes round: none is asked about every night at the cost of another."""
    there = [Ref(UPSTREAM, number) for number in (1, 2, 3)]
    refs = [Ref(UPSTREAM, number) for number in range(100, 130)] + there
    async with asking(World.of(*map(Fact, there)), tmp_path, token=token) as around:
        around.double.faults.heavy_above = 1
        answered = []
        for _ in range(14):
            answers = await around.learn(refs, around.sweep(requests=10))
            answered += [ref for ref in there if isinstance(answers[ref], Pull)]
            around.clock.now += 60
        assert min(answered.count(ref) for ref in there) > 1
