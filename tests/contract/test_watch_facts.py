"""What every keeper of the watch's facts promises: the store's tables, and the memory that tests use."""

from __future__ import annotations

from dataclasses import replace

import pytest

from genesisd.store.store import Store
from genesisd.watch.model import Known, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import UPSTREAM, Ref
from tests.fakes.supervision import FakeClock
from tests.fakes.watch_facts import MemoryFacts

ONE, TWO = Ref(UPSTREAM, 1), Ref("owner/name", 2)
PULL = Pull(
    ref=ONE,
    state=State.MERGED,
    checked_at=100.25,
    title="A \N{EM DASH} title",
    draft=True,
    base="main",
    head="a" * 40,
    merge_commit="b" * 40,
    merged_at=90.5,
    closed_at=90.5,
    updated_at=95.0,
    created_at=1.0,
    labels=("bug", "v1"),
    files=("vllm/a.py",),
    now_at=Ref("new/name", 1),
)
FAILED = Unanswered(ONE, WhyUnknown.PARTIAL, 200.0, "half an answer")


@pytest.fixture(params=["store", "memory"])
def facts(request, tmp_path):
    if request.param == "memory":
        yield MemoryFacts()
        return
    store = Store.open(tmp_path / "genesisd.db", FakeClock())
    yield store.watch_facts
    store.close()


async def test_an_answer_is_known(facts):
    """Every field of it comes back, under its ref and under no other."""
    await facts.learn([PULL])
    assert await facts.known([ONE]) == {ONE: Known(ONE, PULL)}
    assert await facts.known([TWO]) == {}
    assert await facts.known([]) == {}
    assert await facts.known() == {ONE: Known(ONE, PULL)}


async def test_a_failure_takes_no_answer_away(facts):
    """It stands beside the answer until the next one comes."""
    await facts.learn([PULL, replace(FAILED, ref=TWO)])
    await facts.learn([FAILED])
    assert await facts.known() == {ONE: Known(ONE, PULL, FAILED), TWO: Known(TWO, None, replace(FAILED, ref=TWO))}
    later = replace(PULL, checked_at=300.0)
    await facts.learn([later])
    assert (await facts.known([ONE]))[ONE] == Known(ONE, later)


async def test_notes_are_kept_by_kind_and_key(facts):
    """JSON values come back equal; None removes one; other kinds and keys are left alone."""
    values = {"a": {"x": [1, 2.5, None, True]}, "b": "text", "c": 0}
    await facts.note("etag", values)
    await facts.note("batch", {"a": 5})
    assert await facts.recall("etag") == values
    assert await facts.recall("etag", ["a", "nothing"]) == {"a": values["a"]}
    assert await facts.recall("etag", []) == {}
    await facts.note("etag", {"a": None, "b": "other", "nothing": None})
    assert await facts.recall("etag") == {"b": "other", "c": 0}
    assert await facts.recall("batch") == {"a": 5}
    assert await facts.recall("never") == {}


async def test_what_is_kept_does_not_change_with_its_giver(facts):
    """A value that is changed after it was given, or after it was read, is kept as it was."""
    value = {"x": [1]}
    await facts.note("mark", {"a": value})
    value["x"].append(2)
    (await facts.recall("mark"))["a"]["x"].append(3)
    assert await facts.recall("mark") == {"a": {"x": [1]}}
