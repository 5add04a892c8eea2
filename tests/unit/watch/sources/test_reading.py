"""Answers as upstream writes them: read strictly, and anything odd is no answer."""

import pytest

from genesisd.watch.model import State, Unanswered, WhyUnknown
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.watch.sources.queries import Page, batch, opened, read, read_page
from genesisd.watch.sources.reading import Unreadable, node_pull, possible, rest_issue, rest_pull, when

ONE, TWO = Ref(UPSTREAM, 1), Ref(UPSTREAM, 2)
NODE = {
    "__typename": "PullRequest",
    "number": 1,
    "title": "A  title\n of two lines",
    "state": "OPEN",
    "isDraft": True,
    "baseRefName": "main",
    "headRefOid": "a" * 40,
    "mergeCommit": None,
    "mergedAt": None,
    "createdAt": "2026-01-01T00:00:00Z",
    "updatedAt": "2026-01-02T00:00:00Z",
    "closedAt": None,
    "labels": {"nodes": [{"name": "bug"}, None]},
}
MERGED = {"state": "MERGED", "mergeCommit": {"oid": "b" * 40}, "mergedAt": "2026-01-03T00:00:00Z"}
REST = {
    "number": 1,
    "title": "A title",
    "state": "closed",
    "draft": False,
    "merged_at": None,
    "merge_commit_sha": "c" * 40,
    "head": {"sha": "a" * 40},
    "base": {"ref": "main", "repo": {"full_name": UPSTREAM}},
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-02T00:00:00Z",
    "closed_at": "2026-01-02T00:00:00Z",
    "labels": [{"name": "bug"}],
}
ISSUE = {"number": 1, "title": "t", "state": "open", "repository_url": f"https://github.com/repos/{UPSTREAM}"}
BREAKS = [{"number": 2}, {"title": ...}, {"state": "LOCKED"}, {"state": None}, {"updatedAt": "yesterday"}]


def node(**changes: object) -> dict:
    return {key: value for key, value in (NODE | changes).items() if value is not ...}


def body(nonce: str = "n", repo: object = ..., errors: object = (), **nodes: object) -> dict:
    told = {"nameWithOwner": UPSTREAM, **nodes} if repo is ... else repo
    return {"data": {nonce: {}, "r0": told}} | ({"errors": list(errors)} if errors else {})


def test_a_node():
    """What it says, on one line where people read it."""
    told = node_pull(ONE, UPSTREAM, node(), 5.0)
    assert (told.title, told.draft, told.base, told.head) == ("A title of two lines", True, "main", "a" * 40)
    assert (told.state, told.checked_at, told.labels, told.files) == (State.OPEN, 5.0, ("bug",), None)
    assert (told.merge_commit, told.merged_at, told.closed_at) == (None, None, None)
    assert told.updated_at - told.created_at == 86400


def test_a_merge_whose_commit_went():
    """After a push over the base a merge has no commit; it is a merge all the same."""
    assert node_pull(ONE, UPSTREAM, node(**MERGED), 0.0).merge_commit == "b" * 40
    assert node_pull(ONE, UPSTREAM, node(**MERGED, mergeCommit_=1) | {"mergeCommit": None}, 0.0).state is State.MERGED


@pytest.mark.parametrize("changes", [*BREAKS, {"__typename": "Discussion"}, {"labels": 5}, {"updatedAt": "2026-01-01"}])
def test_a_node_that_is_none(changes):
    """Another number, a missing field, an unknown state: no answer."""
    with pytest.raises(Unreadable):
        node_pull(ONE, UPSTREAM, node(**changes), 0.0)


@pytest.mark.parametrize("home", ["", "nonsense", "a/b/c", "../x"])
def test_a_node_of_no_repository(home):
    """The repository must be one."""
    with pytest.raises(Unreadable):
        node_pull(ONE, home, node(), 0.0)


@pytest.mark.parametrize("oid", ["HEAD", "", 5, "../x", "A" * 40])
def test_a_head_that_is_no_commit(oid):
    """It goes into file names and addresses, so that anything else is left out."""
    assert node_pull(ONE, UPSTREAM, node(headRefOid=oid), 0.0).head is None


def test_rest_tells_the_same():
    """Closed, and merged by its time; a trial merge is none."""
    told = rest_pull(ONE, REST, 5.0)
    assert (told.state, told.merge_commit, told.head, told.base) == (State.CLOSED, None, "a" * 40, "main")
    merged = rest_pull(ONE, REST | {"merged_at": "2026-01-02T00:00:00Z"}, 5.0)
    assert (merged.state, merged.merge_commit) == (State.MERGED, "c" * 40)


@pytest.mark.parametrize(
    "changes",
    [{"number": 2}, {"state": "merged?"}, {"head": None}, {"base": {"ref": "x"}}, {"title": ...}, {"labels": [1]}],
)
def test_rest_that_is_none(changes):
    """Strict as for GraphQL."""
    told = {key: value for key, value in (REST | changes).items() if value is not ...}
    with pytest.raises(Unreadable):
        rest_pull(ONE, told, 0.0)
    for other in (None, [], "x", 5):
        with pytest.raises(Unreadable):
            rest_pull(ONE, other, 0.0)


def test_an_issue():
    """An issue has neither head nor merge; a pull request among the issues is told apart."""
    assert rest_issue(ONE, ISSUE, 0.0).is_issue
    with pytest.raises(Unreadable, match="is a pull request"):
        rest_issue(ONE, ISSUE | {"pull_request": {"url": "x"}}, 0.0)
    with pytest.raises(Unreadable):
        rest_issue(ONE, ISSUE | {"repository_url": "https://github.com/"}, 0.0)


def test_an_issue_that_went_elsewhere():
    """Another repository, another number: both are told."""
    there = ISSUE | {"number": 9, "repository_url": "https://github.com/repos/new/home"}
    assert rest_issue(ONE, there, 0.0).now_at == Ref("new/home", 9)
    with pytest.raises(Unreadable):
        rest_issue(ONE, ISSUE | {"number": 9}, 0.0)


@pytest.mark.parametrize(
    ("files", "read_"),
    [
        (None, None),
        ({"totalCount": 0, "nodes": []}, ()),
        ({"totalCount": 1, "nodes": [{"path": "x"}]}, ("x",)),
        ({"totalCount": 2, "nodes": [{"path": "x"}]}, None),
        ({"totalCount": 2, "nodes": [{"path": "x"}, None]}, None),
        ({"totalCount": 101, "nodes": [{"path": "x"}] * 100}, None),
    ],
)
def test_files_are_told_whole_or_not(files, read_):
    """A part of the files would be taken for all of them."""
    assert node_pull(ONE, UPSTREAM, node(files=files), 0.0).files == read_


def test_times_have_zones():
    """A time without a zone could be any."""
    assert when("1970-01-01T00:00:10Z") == 10.0
    assert when("1970-01-01T01:00:10+01:00") == 10.0
    with pytest.raises(ValueError, match="zone"):
        when("1970-01-01T00:00:10")


@pytest.mark.parametrize("told", ["9999-12-31T23:59:59-23:59", "9999-12-31T00:00:00Z", "0001-01-01T00:00:00+23:00"])
def test_a_time_that_has_no_date_is_none(told):
    """It would be told as a date later, and end the sweep there."""
    with pytest.raises(ValueError, match="no time"):
        when(told)


@pytest.mark.parametrize("repo", ["a/b", "a-1/b.c_d-e", "A/.github"])
def test_names_that_can_be(repo):
    """Letters, digits and some marks."""
    assert possible(Ref(repo, 1))


@pytest.mark.parametrize(
    "repo", ["a", "a/", "/b", "a/..", "a/.", "../b", "a/b/c", "a b/c", "_a/b", "a/b?x", "a/b\n", ""]
)
def test_names_that_cannot_be(repo):
    """Anything that would make another address of it."""
    assert not possible(Ref(repo, 1))


def test_a_batch_is_read_alias_by_alias():
    """Answers, lasting refusals and passing ones are told apart, each by its own alias."""
    refs = [Ref(UPSTREAM, number) for number in range(1, 7)]
    errors = [
        {"type": "NOT_FOUND", "path": ["r0", "i1"], "message": "Could not resolve"},
        {"type": "FORBIDDEN", "path": ["r0", "i2", "title"], "message": "no"},
        {"type": "SERVICE_UNAVAILABLE", "path": ["r0", "i3"], "message": "Something\nwent wrong"},
    ]
    told = body(errors=errors, i0=node(), i1=None, i2=None, i3=None, i4=None, i5=node(number=7))
    found = read(batch(refs, "n"), told, 5.0)
    assert set(found.answers) == set(refs[:3])
    assert [found.answers[ref].why for ref in refs[1:3]] == [WhyUnknown.NOT_FOUND, WhyUnknown.BARRED]
    assert found.again == {
        refs[3]: "Something went wrong",
        refs[4]: "null, and no reason given",
        refs[5]: "asked for vllm#6, answered 7",
    }
    assert not found.heavy
    assert found.trouble == ""


def test_a_repository_that_is_null():
    """Its error is that of all its refs; without one they are asked for again."""
    error = {"type": "NOT_FOUND", "path": ["r0"], "message": "Could not resolve to a Repository"}
    found = read(batch([ONE, TWO], "n"), body(repo=None, errors=[error]), 5.0)
    assert found.answers == {
        ref: Unanswered(ref, WhyUnknown.NOT_FOUND, 5.0, "Could not resolve to a Repository") for ref in (ONE, TWO)
    }
    assert set(read(batch([ONE, TWO], "n"), body(repo=None), 5.0).again) == {ONE, TWO}


@pytest.mark.parametrize(
    ("told", "trouble", "heavy"),
    [
        (None, "no object", False),
        ([], "no object", False),
        ({}, "no data", False),
        ({"message": "Server Error"}, "Server Error", False),
        (
            {"data": None, "errors": [{"message": "Something went wrong. This may be the result of a timeout."}]},
            "wrong",
            True,
        ),
        ({"data": None, "errors": [{"type": "MAX_NODE_LIMIT_EXCEEDED", "message": "x"}]}, "x", True),
        ({"data": None, "errors": [{"message": "Resource limits for this query exceeded"}]}, "Resource", True),
        ({"data": {"other": {}, "r0": {"i0": NODE}}}, "cache", False),
        ({"errors": ["x", 5]}, "no data", False),
    ],
)
def test_an_answer_that_is_none(told, trouble, heavy):
    """Why, and whether a smaller question would help."""
    found = read(batch([ONE], "n"), told, 5.0)
    assert trouble in found.trouble
    assert (found.answers, found.again, found.heavy) == ({}, {}, heavy)
    assert opened(told, "n")[0] == {}


@pytest.mark.parametrize("repo", [5, "x", [], {"i0": 5}, {"i0": "x"}, {"i0": []}, {"i0": {}}])
def test_odd_data_is_no_answer(repo):
    """Whatever stands where a node should, nothing is raised and nothing is believed."""
    found = read(batch([ONE], "n"), body(repo=repo), 5.0)
    assert found.answers == {}
    assert set(found.again) == {ONE}


def test_odd_errors_harm_nobody():
    """Errors without a path, or with an odd one, take no answer away."""
    errors = [
        {"message": "x"},
        {"path": None},
        {"path": ["r0"], "type": 5},
        {"path": []},
        {"path": [1, {}]},
        {"path": 5},
    ]
    for told in (errors, 5, {"a": 1}, "x"):
        assert set(read(batch([ONE], "n"), body(i0=node()) | {"errors": told}, 5.0).answers) == {ONE}
    for told in (5, "x"):
        assert isinstance(read_page(UPSTREAM, "n", page(node()) | {"errors": told}, 5.0), Page)


def page(*nodes: dict, **changes: object) -> dict:
    edges = [{"cursor": f"c{one['number']}", "node": one} for one in nodes]
    pulls = {"pageInfo": {"hasNextPage": True}, "edges": edges} | changes
    return {"data": {"n": {}, "r0": {"nameWithOwner": UPSTREAM, "pullRequests": pulls}}}


def test_a_page():
    """Pull requests with their cursors."""
    found = read_page(UPSTREAM, "n", page(node(), node(number=2)), 5.0)
    assert isinstance(found, Page)
    assert [(cursor, one.ref) for cursor, one in found.items] == [("c1", ONE), ("c2", TWO)]
    assert found.more


@pytest.mark.parametrize(
    "told",
    [
        page(node(), node(number=2, state="ODD")),
        page(edges=[{"cursor": "x"}]),
        page(edges=None),
        page(pageInfo=None),
        page() | {"errors": [{"message": "half"}]},
        page() | {"errors": [{"path": 5}]},
        {"data": {"n": {}, "r0": None}},
        {"data": {"n": {}}},
        {"data": {"m": {}}},
        {},
    ],
)
def test_a_page_that_is_none(told):
    """One entry that cannot be understood spoils a page: nothing may be passed over."""
    assert isinstance(read_page(UPSTREAM, "n", told, 5.0), str)


def test_a_title_steers_nothing_that_shows_it():
    """Anybody may write one, and it goes to terminals, logs and pages. Joined signs stay together."""
    told = {
        "title": " a\x1b[2J\n\tb\x9b31m \u202ec \U0001f469\u200d\U0001f4bb",
        "labels": {"nodes": [{"name": "x\x07"}]},
    }
    found = node_pull(ONE, UPSTREAM, NODE | told, 0.0)
    assert found.title == "a\ufffd[2J b\ufffd31m \ufffdc \U0001f469\u200d\U0001f4bb"
    assert found.labels == ("x\ufffd",)


def test_half_a_character_is_a_question_mark():
    """JSON can spell what UTF-8 cannot; a title like that would keep every answer of the night out of the store."""
    told = node_pull(ONE, UPSTREAM, NODE | {"title": "a \ud800b", "labels": {"nodes": [{"name": "\udfff"}]}}, 0.0)
    assert (told.title, told.labels) == ("a ?b", ("?",))
