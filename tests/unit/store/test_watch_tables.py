"""What the watch keeps over a restart."""

from dataclasses import replace

import pytest

from genesisd.errors import ConflictError, NotFoundError
from genesisd.store.store import Store
from genesisd.watch import pin_facts
from genesisd.watch.decisions import Decision, DecisionKind, Dossier, EditDossier, Outcome, Standing
from genesisd.watch.model import Known, PinFacts, Pull, State, Unanswered, WhyUnknown
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
    """Notes of one kind are not seen under another, and None removes one."""
    facts = store.watch_facts
    await facts.note("etag", {"/a": {"etag": "x"}, "/b": 1})
    await facts.note("mark", {"/a": "other"})
    await facts.note("etag", {"/b": None})
    assert await facts.recall("etag") == {"/a": {"etag": "x"}}
    assert await facts.recall("mark", ["/a", "/none"]) == {"/a": "other"}


async def test_what_is_forgotten_was_never_answered(store):
    """Neither the answer nor the failure beside it; of the others nothing is lost."""
    facts = store.watch_facts
    await facts.learn([OPEN, Unanswered(ONE, WhyUnknown.OUTAGE, 20.0), Unanswered(TWO, WhyUnknown.OUTAGE, 20.0)])
    assert [await facts.forget(ONE), await facts.forget(ONE)] == [(True, 0), (False, 0)]
    assert list(await facts.known()) == [TWO]


MADE = Decision(kind=DecisionKind.REVIEW, row="watch:vllm#1", ref=ONE, reason="look", key="review:1", evidence=("a",))
DOSSIER = Dossier(
    patch="P1",
    ref=ONE,
    pin="a",
    outcome=Outcome.PARTIAL,
    edits=(EditDossier(edit="e", path="vllm/a.py", ours="-a", upstreams="-b", covered=None),),
    tests={"t": "passes"},
    made_at=1.0,
    reason="r",
)
OTHER = replace(MADE, row="sweep:someone/else#2", ref=TWO, key="review:2")


async def test_decisions_are_met_in_one_transaction(store):
    """New ones open with an id of their own, what is made again is seen, and what is not made again has passed."""
    table = store.watch_decisions
    met = await table.meet([MADE, OTHER], 10.0, covers=None)
    assert [(one.id, one.decision) for one in met.opened] == [(1, MADE), (2, OTHER)]
    met = await table.meet([replace(MADE, reason="look now")], 20.0, covers=["watch:vllm#1"])
    assert (met.opened, met.passed) == ((), ())
    met = await table.meet([], 30.0, covers=None)
    assert [one.id for one in met.passed] == [1, 2]
    kept = await table.all()
    assert [(one.id, one.standing, one.opened, one.seen) for one in kept] == [
        (1, Standing.PASSED, 10.0, 20.0),
        (2, Standing.PASSED, 10.0, 10.0),
    ]
    assert kept[0].decision.reason == "look now"
    assert await table.all(open_only=True) == ()


async def test_an_answer_holds_until_what_it_waits_for(store):
    """Declined with a predicate, it opens again once that is true, also without a sweep."""
    table = store.watch_decisions
    await table.meet([MADE], 10.0, covers=None)
    said = await table.answer(
        1, Standing.DECLINED, by="root", why="no such card", until=None, revisit_when=["gpu.sm >= 89"]
    )
    assert (said.by, said.why, said.revisit_when) == ("root", "no such card", ("gpu.sm >= 89",))
    assert (await table.meet([MADE], 20.0, covers=None)).reopened == ()
    assert await table.revisit(25.0) == ()
    table.is_true = lambda text: text == "gpu.sm >= 89"
    assert [one.id for one in await table.revisit(30.0)] == [1]
    assert [one.standing for one in await table.all()] == [Standing.OPEN]


async def test_what_cannot_be_answered_is_refused(store):
    """A decision that is not there, one that has passed, and a snooze without an end."""
    table = store.watch_decisions
    await table.meet([MADE], 10.0, covers=None)
    with pytest.raises(NotFoundError):
        await table.answer(9, Standing.ACCEPTED, by="root", why="", until=None, revisit_when=())
    with pytest.raises(ConflictError):
        await table.answer(1, Standing.SNOOZED, by="root", why="", until=None, revisit_when=())
    await table.meet([], 20.0, covers=None)
    with pytest.raises(ConflictError, match="passed"):
        await table.answer(1, Standing.ACCEPTED, by="root", why="", until=None, revisit_when=())


async def test_one_dossier_a_patch_ref_and_pin(store):
    """A newer one takes the place of the older."""
    table = store.watch_decisions
    first = DOSSIER
    await table.keep_dossier(first)
    await table.keep_dossier(replace(first, patch="P2", made_at=2.0))
    await table.keep_dossier(replace(first, outcome=Outcome.RETIRE, made_at=3.0))
    assert [(one.patch, one.outcome) for one in await table.dossiers()] == [
        ("P1", Outcome.RETIRE),
        ("P2", Outcome.PARTIAL),
    ]
    assert await table.dossiers("P2") == (replace(first, patch="P2", made_at=2.0),)


async def test_all_of_it_outlives_the_daemon(tmp_path):
    """Facts, notes, decisions and sweeps are there when the store is opened again."""
    path = tmp_path / "store.db"
    store = Store.open(path)
    await store.watch_facts.learn([OPEN])
    await store.watch_decisions.meet([MADE], 10.0, covers=None)
    await store.watch_ledger.finish(
        await store.watch_ledger.begin("n", "w", "me", 1.0, lease=9.0), 2.0, outcome="done", summary={}
    )
    store.close()
    store = Store.open(path)
    assert (await store.watch_facts.known())[ONE].pull == OPEN
    assert [one.decision for one in await store.watch_decisions.all()] == [MADE]
    assert await store.watch_ledger.last("n") == ("w", 2.0)
    store.close()


async def test_what_upstream_says_need_not_be_text(store):
    """Half a character in one answer keeps none of the others from being kept."""
    odd, silent = replace(OPEN, title="\ud800"), Unanswered(TWO, WhyUnknown.PARTIAL, 5.0, "\udfff")
    await store.watch_facts.learn((odd, silent))
    known = await store.watch_facts.known()
    assert (known[ONE].pull.title, known[TWO].unknown.text) == ("?", "?")


async def test_a_decision_that_cannot_be_read_keeps_no_sweep_from_its_end(store):
    """What another version wrote in another form is asked anew, under an id of its own."""
    table = store.watch_decisions
    await table.meet([MADE, OTHER], 10.0, covers=None)
    await store._writer.ask(lambda c: c.execute("UPDATE watch_decisions SET decision = '{}' WHERE id = 1"))
    met = await table.meet([MADE, OTHER], 20.0, covers=None)
    assert ([one.id for one in met.opened], [one.id for one in met.again]) == ([3], [2])
    assert [one.id for one in await table.all()] == [2, 3]


async def test_an_answer_is_judged_by_what_stands_when_it_is_kept(store):
    """The decision as last made, the dossiers there are, and what pins have by now; what is refused changes nothing."""
    table = store.watch_decisions
    await table.meet([MADE], 10.0, covers=None)
    await table.meet([replace(MADE, pins=("p33",))], 20.0, covers=None)
    await pin_facts.keep(store.watch_facts, {ONE: (PinFacts(pin="p33", slots=()),)})
    await table.keep_dossier(DOSSIER)
    seen = []

    def refuse(*shown):
        seen.append(shown)
        return ConflictError("not yet")

    said = {"by": "root", "why": "x", "until": None, "revisit_when": ()}
    with pytest.raises(ConflictError, match="not yet"):
        await table.answer(1, Standing.ACCEPTED, **said, refuse=refuse)
    (kept,) = await table.all()
    assert (kept.standing, kept.by, kept.decision.pins) == (Standing.OPEN, "", ("p33",))
    assert seen == [(kept, (DOSSIER,), (PinFacts(pin="p33", slots=()),))]
    assert (await table.answer(1, Standing.ACCEPTED, **said, refuse=lambda *_: None)).standing is Standing.ACCEPTED


async def test_a_dossier_of_what_is_not_known_any_more_is_not_kept(store):
    """Forgotten, pushed anew, or not answered for; a failure beside the answer takes nothing away."""
    table, facts = store.watch_decisions, store.watch_facts
    await facts.learn([replace(OPEN, head="a"), Unanswered(ONE, WhyUnknown.OUTAGE, 20.0)])
    assert not await table.keep_dossier(DOSSIER, replace(OPEN, head="b"))
    assert await table.keep_dossier(DOSSIER, replace(OPEN, head="a"))
    assert await facts.forget(ONE) == (True, 1)
    assert not await table.keep_dossier(DOSSIER, replace(OPEN, head="a"))
    await facts.learn([Unanswered(ONE, WhyUnknown.OUTAGE, 30.0)])
    assert not await table.keep_dossier(DOSSIER, replace(OPEN, head="a"))
    assert await table.dossiers() == ()
