import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.probes.cost import Ledger, Mood, Room
from genesisd.probes.schedule import FREE, Ask, Scene, Turn, Wait, decide, neglected, paying
from genesisd.probes.spec import CostSpec

IDLE = Scene(Mood.IDLE, Room())
BUSY = Scene(Mood.BUSY, Room())
SATURATED = Scene(Mood.SATURATED, Room())
KINDS = ("golden", "tool-calls", "reasoning", "needle", "acceptance", "creep")


def turn(kind: str = "golden", due: float = 0.0, period: float = 100.0, cost: int = 100, **more: float) -> Turn:
    known = {"interval": period, "patience": 0.5, "told": due - period} | more
    return Turn(kind, due, known["interval"], period, known["patience"], cost, known["told"])


def test_who_is_not_due_is_waited_for() -> None:
    """The next one that is due says for how long."""
    found = decide([turn("golden", 50), turn("needle", 30)], 10, IDLE)
    assert found == Wait(20, "needle is due next")
    assert not paying([turn(due=50)], 10)


def test_the_most_overdue_in_its_own_periods_goes_first() -> None:
    """A minute late is much for who wants to be asked every minute, and little for who is asked once an hour."""
    hourly, minutely = turn("needle", 0, 3600), turn("golden", 60, 60)
    assert decide([hourly, minutely], 130, IDLE) == Ask("golden")
    assert decide([hourly, replace(minutely, due=129)], 130, IDLE) == Ask("needle")


def test_ties_go_to_whoever_stands_first() -> None:
    """All are due at the start of a life, and the order of the list is the operator's."""
    assert decide([turn(kind) for kind in KINDS], 0, IDLE) == Ask(KINDS[0])


def test_beside_users_only_who_is_free_is_asked_within_its_patience() -> None:
    """Half a period is waited for a quiet moment, then it is asked all the same."""
    one = turn(due=0, period=100)
    assert decide([one], 49, BUSY) == Wait(2.5, "users are being served")
    assert decide([one], 50, BUSY) == Ask("golden")
    assert decide([one, turn("creep", 48)], 49, BUSY) == Ask("creep")
    assert decide([replace(one, patience=0)], 0, BUSY) == Ask("golden")


def test_a_quiet_moment_ends_the_waiting() -> None:
    """Patience is for busy workers alone."""
    assert decide([turn()], 1, Scene(Mood.QUIET, Room(100, 100))) == Ask("golden")


@pytest.mark.parametrize(("refusals", "seconds"), [(0, 1), (1, 2), (4, 16), (5, 30), (500, 30)])
def test_a_saturated_engine_is_left_alone_for_longer_and_longer(refusals: int, seconds: float) -> None:
    """Waits double up to half a minute; the free ones go on meanwhile, and are what is waited for."""
    scene = replace(SATURATED, refusals=refusals)
    assert decide([turn()], 99, scene) == Wait(seconds, "busy: users' requests wait for room in the engine")
    assert decide([turn(), turn("creep", 98)], 99, scene) == Ask("creep")
    assert decide([turn(), turn("creep", 99.5)], 99, scene) == Wait(0.5, "creep is due next")


def test_who_is_asked_often_is_not_put_off_for_long() -> None:
    """Half an interval is the longest wait, and a second the shortest."""
    scene = replace(SATURATED, refusals=500)
    why = "busy: users' requests wait for room in the engine"
    assert decide([turn(period=10)], 99, scene) == Wait(5, why)
    assert decide([turn(period=0.1)], 99, scene) == Wait(1, why)
    assert decide([turn(period=1000), turn("needle", 0, 10)], 99, scene) == Wait(5, why)


def test_what_cannot_be_asked_is_told_once_a_period() -> None:
    """Not before its patience is over, and then as often as it would have been asked."""
    one = turn(due=0, period=100, told=-100)
    why = {"golden": "busy: users' requests wait for room in the engine"}
    assert neglected([one], 49, SATURATED) == {}
    assert neglected([one], 50, SATURATED) == why
    assert neglected([replace(one, told=50)], 149, SATURATED) == {}
    assert neglected([replace(one, told=50)], 150, SATURATED) == why
    assert neglected([replace(one, kind="creep")], 500, SATURATED) == {}
    assert neglected([one], 500, BUSY) == {}


def test_room_is_saved_for_the_most_overdue() -> None:
    """Small asks would eat it up before a large one ever fits; one that can never fit is not waited for."""
    large, small = turn("needle", 0, 100, 900), turn("golden", 90, 100, 10)
    scene = Scene(Mood.BUSY, Room(left=500, most=1000))
    found = decide([large, small], 150, scene)
    assert found == Wait(5, "it may cost 900 tokens, and 500 are left of what probes may take")
    assert neglected([large, small], 150, scene)["golden"].endswith("is saved for needle, which waits for longer")
    assert decide([replace(large, cost=1001), small], 150, scene) == Ask("golden")
    assert decide([large, small, turn("creep", 149)], 150, scene) == Ask("creep")
    assert decide([replace(large, due=99), replace(small, due=80)], 145, scene) == Ask("golden")


def test_who_still_waits_for_a_quiet_moment_saves_nothing() -> None:
    """Only whose turn it is may hold the others up."""
    large, small = turn("needle", 0, 400, 900, patience=1.0), turn("golden", 99, 1000, 10, patience=0.0)
    assert decide([large, small], 150, Scene(Mood.BUSY, Room(left=500, most=1000))) == Ask("golden")


def test_nothing_to_ask_is_a_long_wait() -> None:
    """An empty list is no busy loop."""
    assert decide([], 0, IDLE) == Wait(30, "there is nothing to ask")


def test_a_due_time_that_is_almost_now_is_no_busy_loop() -> None:
    """Waits have a least length."""
    assert decide([turn(due=1e-9)], 0, IDLE) == Wait(0.02, "golden is due next")


moments = st.floats(0, 1000)
turns_strategy = st.lists(
    st.builds(
        Turn,
        kind=st.sampled_from(KINDS),
        due=moments,
        interval=st.floats(0.001, 1000),
        period=st.floats(0.001, 1000),
        patience=st.floats(0, 1),
        cost=st.integers(0, 10_000),
        told=st.floats(-1000, 1000),
    ),
    unique_by=lambda one: one.kind,
)
scenes = st.builds(
    Scene,
    mood=st.sampled_from(Mood),
    room=st.builds(lambda left, more: Room(left, left + more), st.floats(0, 10_000), st.floats(0, 10_000)),
    refusals=st.integers(0, 1000),
)


@settings(deadline=None)
@given(turns_strategy, moments, scenes)
def test_every_decision_keeps_the_rules(turns: list[Turn], now: float, scene: Scene) -> None:
    """Deterministic; who is asked is due and allowed; a wait passes nobody over who could be asked, and has an end."""
    found = decide(turns, now, scene)
    assert found == decide(turns, now, scene)
    if isinstance(found, Ask):
        one = next(one for one in turns if one.kind == found.kind)
        assert one.due <= now
        if one.kind not in FREE:
            assert scene.mood is not Mood.SATURATED
            assert one.cost <= scene.room.left
            assert scene.mood is not Mood.BUSY or now >= one.impatient
        assert found.kind not in neglected(turns, now, scene)
    else:
        assert 0 < found.seconds <= 1000
        assert not any(one.due <= now and one.kind in FREE for one in turns)
        due = [one for one in turns if one.due <= now]
        if due and scene.mood in {Mood.IDLE, Mood.QUIET}:
            assert any(one.cost > scene.room.left for one in due)


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(1, 1000), st.floats(0.01, 50)), min_size=1, max_size=6),
    st.integers(0, 5),
)
def test_nobody_starves(probes: list[tuple[float, float]], first: int) -> None:
    """However much there is to ask, a probe waits no longer than a bound that grows like a logarithm of its wait.

    While one is overdue by r of its periods, another is asked only if it is as overdue: so at most once in 1 + r of its
    own. Its asks in the first R periods of the wait are thus at most 1 + (p/p') ln(1 + R), and R p is their time in all.
    """
    turns = [turn(KINDS[i], 0.0 if i >= first else 1.0, period) for i, (period, _) in enumerate(probes)]
    takes = {KINDS[i]: seconds for i, (_, seconds) in enumerate(probes)}
    load = sum(takes[one.kind] / one.period for one in turns)
    whole, longest = sum(takes.values()), max(takes.values())
    now = 0.0
    for _ in range(300):
        match decide(turns, now, IDLE):
            case Wait(seconds, _):
                now += seconds
            case Ask(kind):
                place = next(i for i, one in enumerate(turns) if one.kind == kind)
                one = turns[place]
                waited = one.overdue(now)
                assert waited * one.period <= whole + longest + one.period * load * math.log1p(waited) + 0.1
                now += takes[kind]
                turns[place] = replace(one, due=now + one.period)


def test_a_large_one_gets_its_turn_on_a_worker_that_is_never_quiet() -> None:
    """Users take all the time, small probes would take the budget five times over, and the large one is asked."""
    ledger = Ledger(CostSpec(share=0.01, window=1000.0, floor=0))
    turns = [turn("golden", 0, 10, 20), turn("tool-calls", 0, 20, 50), turn("needle", 0, 500, 400)]
    now, counter, asked = 0.0, 0.0, {one.kind: 0 for one in turns}
    while now < 10_000:
        counter += 100  # users get a hundred tokens a second
        ledger.serve(now, counter)
        match decide(turns, now, Scene(Mood.BUSY, ledger.room(now, Mood.BUSY))):
            case Ask(kind):
                place = next(i for i, one in enumerate(turns) if one.kind == kind)
                ledger.spend(now, turns[place].cost, Mood.BUSY)
                counter += turns[place].cost
                turns[place] = replace(turns[place], due=now + turns[place].period)
                asked[kind] += 1
            case Wait():
                pass
        now += 1
    assert asked["needle"] >= 2
    assert asked["golden"] > asked["tool-calls"] > asked["needle"]
