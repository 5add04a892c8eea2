"""The double of GitHub is held to the interface's own schema and to what its documentation and users tell."""

from __future__ import annotations

import json
from pathlib import Path

import aiohttp
import pytest
from graphql import GraphQLSchema, build_schema, execute, parse, validate
from graphql.type import GraphQLResolveInfo

from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources import queries
from tests.helpers.fakegithub import TOKEN, Fact, Status, World, fake_github, from_fixture, synthetic
from tests.helpers.upstream import asking

SHARED = Path(__file__).parents[3] / "shared"
SCHEMA = SHARED / "fixtures/github_schema.graphql"
FIXTURE = SHARED / "fixtures/pull_requests.json"
needs_schema = pytest.mark.skipif(not SCHEMA.exists(), reason="the schema of upstream's API is not in a clone")
needs_fixture = pytest.mark.skipif(not FIXTURE.exists(), reason="the collected public facts are not in a clone")
AS_KNOWN = {"Authorization": f"Bearer {TOKEN}", "User-Agent": "genesisd/test"}


@pytest.fixture(scope="module")
def schema() -> GraphQLSchema:
    return build_schema(SCHEMA.read_text(), assume_valid=True)


def problems(schema: GraphQLSchema, query: str, body: bytes) -> list[str]:
    """What the schema has against a query and the answer to it."""
    document = parse(query)
    found = [error.message for error in validate(schema, document)]
    if found:
        return found
    told = json.loads(body)
    if not told.get("data"):
        return []
    checked = execute(schema, document, told["data"], field_resolver=_by_alias, type_resolver=_by_name)
    # A null that an error explains is as it should be; anything else that does not fit is told by the checker.
    found = [error.message for error in checked.errors or ()]
    return found or ([] if checked.data == told["data"] else ["the answer holds something else than was asked for"])


def _by_alias(source: dict, info: GraphQLResolveInfo, **_: object) -> object:
    return source[info.path.key]


def _by_name(value: dict, *_: object) -> str:
    return value["__typename"]


@needs_schema
def test_every_query_is_one_that_upstream_knows(schema):
    """All questions are valid against the real schema, whatever they are about."""
    many = [Ref("owner/name", 1), Ref(UPSTREAM, 2), Ref(UPSTREAM, 3), Ref("a/b.c-d_e", 4)]
    asked = [
        queries.batch(many, "n1").text,
        queries.batch(many[:1], "n2").text,
        queries.newest(UPSTREAM, 50, None, "n3"),
        queries.newest(UPSTREAM, 1, 'a"b\\c', "n4", files=False),
    ]
    for query in asked:
        assert [error.message for error in validate(schema, parse(query))] == []


@needs_schema
async def test_every_answer_is_one_that_upstream_could_give(schema, tmp_path):
    """The double's answers fit the real schema: types, enums, what may be null and what may not."""
    world = synthetic(30)
    world.renames["old/name"] = UPSTREAM
    async with asking(world, tmp_path) as around:
        around.double.faults.nulls[Ref(UPSTREAM, 40003)] = "SERVICE_UNAVAILABLE"
        github = around.sweep()
        await github.pulls((*around.refs, Ref(UPSTREAM, 7), Ref("nobody/nothing", 1)))
        await github.recent(UPSTREAM, None, most=50)
        assert len(around.double.bodies) >= 3
        assert [problems(schema, query, body) for query, body in around.double.bodies] == [[]] * len(
            around.double.bodies
        )


@needs_schema
def test_the_check_has_teeth(schema):
    """Wrong answers and wrong questions are noticed."""
    query = queries.batch([Ref(UPSTREAM, 1)], "n").text
    rate = {"cost": 1, "limit": 1, "remaining": 1, "resetAt": "2026-01-01T00:00:00Z"}
    node = {
        "__typename": "Issue",
        "number": 1,
        "title": "",
        "issueState": "OPEN",
        "createdAt": "2026-01-01T00:00:00Z",
        "updatedAt": "2026-01-01T00:00:00Z",
        "closedAt": None,
        "labels": {"nodes": []},
    }

    def told(**changes: object) -> bytes:
        found = {"__typename": "Repository", "nameWithOwner": UPSTREAM, "i0": node | changes}
        return json.dumps({"data": {"n": rate, "r0": found}}).encode()

    assert problems(schema, query, told()) == ["the answer holds something else than was asked for"]
    right = json.loads(told())
    del right["data"]["r0"]["__typename"]
    assert problems(schema, query, json.dumps(right).encode()) == []
    right["data"]["r0"]["i0"]["issueState"] = "MERGED"
    assert "MERGED" in problems(schema, query, json.dumps(right).encode())[0]
    right["data"]["r0"]["i0"] |= {"issueState": "OPEN", "title": None}
    assert "non-nullable" in problems(schema, query, json.dumps(right).encode())[0]
    assert problems(schema, query.replace("isDraft", "isADraft"), told()) != []


@needs_fixture
async def test_the_collected_facts_arrive(tmp_path):
    """Each of the collected pull requests is told as the file has it, by both interfaces alike."""
    world = from_fixture(FIXTURE)
    assert len(world.facts) > 150
    seen = []
    for token in (True, False):
        async with asking(world, tmp_path, token=token, double={"anonymous": 5000}) as around:
            answers = await around.sweep(requests=500).pulls(around.refs)
            for fact in world.facts.values():
                answer = answers[fact.ref]
                assert (answer.state.value, answer.is_issue, answer.merged_at) == (
                    fact.state,
                    fact.is_issue,
                    fact.merged_at,
                )
            seen.append({ref: (one.state, one.head, one.merge_commit, one.labels) for ref, one in answers.items()})
    assert seen[0] == seen[1]


async def test_limits_are_told_with_every_answer():
    """What is left of the hour, of which sort, and when the next begins."""
    async with fake_github(synthetic(3)) as double, aiohttp.ClientSession(headers=AS_KNOWN) as session:
        for used in (1, 2):
            async with session.get(f"{double.url}/repos/{UPSTREAM}/pulls/40001") as answer:
                assert answer.headers["x-ratelimit-limit"] == "5000"
                assert answer.headers["x-ratelimit-remaining"] == str(5000 - used)
                assert answer.headers["x-ratelimit-resource"] == "core"
                assert int(answer.headers["x-ratelimit-reset"]) > double.now()
                assert answer.headers["Cache-Control"].startswith("private, max-age=60")


@pytest.mark.parametrize(("known", "cost"), [(True, 0), (False, 1)])
async def test_304_is_free_for_those_with_a_token(known, cost):
    """An answer of 304 costs nothing of the hour, if only one says who one is."""
    headers = AS_KNOWN if known else {"User-Agent": "genesisd/test"}
    async with fake_github(synthetic(3)) as double, aiohttp.ClientSession(headers=headers) as session:
        address = f"{double.url}/repos/{UPSTREAM}/pulls/40001"
        async with session.get(address) as answer:
            tag, left = answer.headers["ETag"], int(answer.headers["x-ratelimit-remaining"])
        async with session.get(address, headers={"If-None-Match": tag}) as answer:
            assert answer.status == 304
            assert await answer.read() == b""
            assert int(answer.headers["x-ratelimit-remaining"]) == left - cost
        double.world.change(Ref(UPSTREAM, 40001), title="Another")
        async with session.get(address, headers={"If-None-Match": tag}) as answer:
            assert answer.status == 200


async def test_lists_have_pages():
    """A page leads to the next one, and the last one to none."""
    async with fake_github(synthetic(30)) as double, aiohttp.ClientSession(headers=AS_KNOWN) as session:
        address = f"{double.url}/repos/{UPSTREAM}/pulls?state=all&sort=updated&direction=desc&per_page=20"
        async with session.get(address) as answer:
            assert 'rel="next"' in answer.headers["Link"]
            times = [one["updated_at"] for one in await answer.json()]
            assert times == sorted(times, reverse=True)
            assert len(times) == 20
        async with session.get(f"{address}&page=2") as answer:
            assert "Link" not in answer.headers
            assert len(await answer.json()) == 4


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/repos/a/b/pulls/1", {"User-Agent": ""}, 403),
        ("GET", "/repos/a/b/pulls/1", {"Authorization": "Bearer wrong"}, 401),
        ("GET", "/repos/a/b/pulls/1", {}, 404),
        ("GET", "/somewhere", {}, 404),
        ("POST", "/graphql", {"Authorization": ""}, 401),
    ],
)
async def test_what_is_not_answered(method, path, headers, status):
    """Without a name, with a wrong token, and about what is not there."""
    async with fake_github(synthetic(1)) as double, aiohttp.ClientSession() as session:
        told = {key: value for key, value in (AS_KNOWN | headers).items() if value or key == "User-Agent"}
        async with session.request(method, double.url + path, headers=told, json={"query": "{ a }"}) as answer:
            assert answer.status == status


async def test_a_move_leads_to_a_number():
    """What was renamed is told by an address that no renaming changes."""
    world = World.of(Fact(Ref("old/name", 5)))
    world.renames["old/name"] = "new/name"
    async with fake_github(world) as double, aiohttp.ClientSession(headers=AS_KNOWN) as session:
        async with session.get(f"{double.url}/repos/old/name/pulls/5", allow_redirects=False) as answer:
            assert answer.status == 301
            there = answer.headers["Location"]
            assert "/repositories/" in there
        async with session.get(there) as answer:
            assert (await answer.json())["base"]["repo"]["full_name"] == "new/name"


async def test_a_query_that_is_wrong_has_no_data():
    """A field that upstream does not have, and a text that is no query, are answered by errors alone."""
    async with fake_github(synthetic(1)) as double, aiohttp.ClientSession(headers=AS_KNOWN) as session:
        for query in ("{ rateLimit { price } }", "{ rateLimit {"):
            async with session.post(f"{double.url}/graphql", json={"query": query}) as answer:
                assert answer.status == 200
                assert list(await answer.json()) == ["errors"]


async def test_a_fault_is_for_one_request():
    """What is to go wrong next goes wrong once."""
    async with fake_github(synthetic(1)) as double, aiohttp.ClientSession(headers=AS_KNOWN) as session:
        double.faults.next.append(Status(502))
        seen = []
        for _ in range(2):
            async with session.get(f"{double.url}/repos/{UPSTREAM}/pulls/40001") as answer:
                seen.append(answer.status)
        assert seen == [502, 200]


async def test_an_error_of_the_double_fails_the_test():
    """A question that the double cannot deal with is a mistake, and told at the end."""

    async def ask() -> None:
        async with (
            fake_github(synthetic(1)) as double,
            aiohttp.ClientSession(headers=AS_KNOWN) as session,
            session.get(f"{double.url}/repos/{UPSTREAM}/pulls") as answer,
        ):
            assert answer.status == 500

    with pytest.raises(KeyError):
        await ask()
