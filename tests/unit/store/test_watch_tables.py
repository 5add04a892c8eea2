"""What the watch keeps over a restart."""

import pytest

from genesisd.store.store import Store
from genesisd.watch.model import Known, Pull, State, Unanswered, WhyUnknown
from genesisd.watch.refs import Ref

ONE, TWO = Ref("vllm-project/vllm", 1), Ref("someone/else", 2)
OPEN = Pull(ref=ONE, state=State.OPEN, checked_at=10.0, title="Ä title", labels=("bug",), files=("vllm/a.py",))


@pytest.fixture
def store(tmp_path):
    store = Store.open(tmp_path / "store.db")
    yield store
    store.close()


async def test_a_window_is_done_once(store):
    """What is done is not claimed again, what failed is, and the newest that counts is told."""
    ledger = store.watch_ledger
    first = await ledger.begin("nightly", "2026-07-05", "me", 100.0, lease=60.0)
    assert await ledger.begin("nightly", "2026-07-05", "you", 120.0, lease=60.0) is None
    await ledger.finish(first, 130.0, outcome="failed", summary={})
    assert await ledger.last("nightly") is None
    second = await ledger.begin("nightly", "2026-07-05", "you", 131.0, lease=60.0)
    await ledger.finish(second, 140.0, outcome="partial", summary={"rows": 3})
    await ledger.finish(second, 150.0, outcome="failed", summary={})
    assert await ledger.begin("nightly", "2026-07-05", "me", 160.0, lease=60.0) is None
    assert await ledger.begin("weekly", "2026-07-05", "me", 160.0, lease=60.0) is not None
    assert await ledger.last("nightly") == ("2026-07-05", 140.0)
    assert [(one.outcome, dict(one.summary)) for one in await ledger.list("nightly")] == [
        ("partial", {"rows": 3}),
        ("failed", {}),
    ]


async def test_a_lease_ends(store):
    """A sweep that nobody renews is another's after its lease, and the one that lost it can neither renew nor finish."""
    ledger = store.watch_ledger
    lost = await ledger.begin("hourly", "9", "me", 100.0, lease=60.0)
    assert await ledger.renew(lost, 150.0, lease=60.0)
    assert await ledger.begin("hourly", "9", "you", 205.0, lease=60.0) is None
    taken = await ledger.begin("hourly", "9", "you", 211.0, lease=60.0)
    assert taken is not None
    assert not await ledger.renew(lost, 212.0, lease=60.0)
    await ledger.finish(lost, 213.0, outcome="done", summary={})
    assert await ledger.last("hourly") is None


async def test_a_clock_that_went_back_locks_nobody_out(store):
    """A lease that ends further off than leases last was written by a clock that has gone back since."""
    ledger = store.watch_ledger
    await ledger.begin("hourly", "9", "me", 1_000_000.0, lease=60.0)
    assert await ledger.begin("hourly", "9", "you", 100.0, lease=60.0) is not None


async def test_what_a_dead_daemon_began_is_given_up(store):
    """A daemon that starts takes over at once, without waiting for a lease."""
    ledger = store.watch_ledger
    await ledger.begin("nightly", "d", "dead", 100.0, lease=600.0)
    assert await ledger.leave(101.0) == 1
    assert await ledger.begin("nightly", "d", "new", 102.0, lease=600.0) is not None


async def test_a_failure_takes_no_answer_away(store):
    """The newest answer stays beside a newer failure, and an answer ends the failure."""
    facts = store.watch_facts
    failed = Unanswered(ONE, WhyUnknown.OUTAGE, 20.0, "502")
    await facts.learn([OPEN, Unanswered(TWO, WhyUnknown.NOT_FOUND, 20.0)])
    await facts.learn([failed])
    known = await facts.known()
    assert known[ONE] == Known(ONE, OPEN, failed)
    assert known[TWO].pull is None
    assert known[ONE].age(25.0) == 15.0
    await facts.learn([OPEN])
    assert (await facts.known([ONE])) == {ONE: Known(ONE, OPEN)}


async def test_notes_go_by_kind_and_key(store):
    """Notes of one kind are not seen under another, None removes one, and old ones can be dropped."""
    facts = store.watch_facts
    await facts.note("etag", {"/a": {"etag": "x"}, "/b": 1})
    await facts.note("mark", {"/a": "other"})
    await facts.note("etag", {"/b": None})
    assert await facts.recall("etag") == {"/a": {"etag": "x"}}
    assert await facts.recall("mark", ["/a", "/none"]) == {"/a": "other"}
    assert await facts.forget_notes("etag", 4e9) == 1
    assert await facts.recall("etag") == {}
