import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.probes.cost import Ledger, Mood, Room
from genesisd.probes.spec import CostSpec

SPEC = CostSpec(share=0.01, window=100.0, floor=500)


def test_a_worker_that_nobody_uses_may_always_be_asked() -> None:
    """There is nobody whom it could cost anything."""
    ledger = Ledger(SPEC)
    ledger.spend(0, 10**9, Mood.IDLE)
    assert ledger.room(0, Mood.IDLE) == Room(math.inf, math.inf)
    assert ledger.room(0, Mood.QUIET) == Room(500, 500)  # what was asked then is not held against anybody


def test_between_requests_there_is_a_floor_and_beside_them_none() -> None:
    """A small busy worker would otherwise be asked many times its share."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 0)
    ledger.serve(1, 10_000)
    assert ledger.room(1, Mood.QUIET) == Room(500, 500)
    assert ledger.room(1, Mood.BUSY) == Room(100, 100)
    ledger.spend(2, 60, Mood.BUSY)
    ledger.spend(2, 40, Mood.QUIET)
    assert ledger.room(2, Mood.QUIET) == Room(400, 500)
    assert ledger.room(2, Mood.BUSY) == Room(40, 100)


def test_a_share_that_is_larger_than_the_floor_counts() -> None:
    """The floor is a floor."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 0)
    ledger.serve(1, 100_000)
    assert ledger.room(1, Mood.QUIET) == Room(1000, 1000)


def test_what_is_old_is_forgotten() -> None:
    """Both sides of the account slide with the window."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 0)
    ledger.serve(1, 100_000)
    ledger.spend(1, 900, Mood.BUSY)
    assert ledger.room(100, Mood.BUSY) == Room(100, 1000)
    assert ledger.room(101.5, Mood.BUSY) == Room(0, 0)


def test_the_probes_own_tokens_are_not_users() -> None:
    """The engine counts everybody's; what probes took is left out whether it shows at once or at the next look."""
    ledger = Ledger(SPEC)
    assert ledger.serve(0, 1000) == 0
    ledger.spend(1, 300, Mood.IDLE)
    assert ledger.serve(2, 1100) == 0
    assert ledger.serve(3, 1400) == 100
    assert ledger.serve(4, 1450) == 50


def test_what_was_asked_before_the_first_look_is_in_it() -> None:
    """It must not be taken off what users get later."""
    ledger = Ledger(SPEC)
    ledger.spend(0, 300, Mood.IDLE)
    assert ledger.serve(1, 1000) == 0
    assert ledger.serve(2, 1250) == 250


def test_a_server_that_began_again_counts_from_nothing() -> None:
    """A lower count is a new one."""
    ledger = Ledger(SPEC)
    ledger.serve(0, 5000)
    assert ledger.serve(1, 70) == 70


looks = st.lists(
    st.tuples(
        st.floats(0.01, 30.0),
        st.sampled_from([Mood.IDLE, Mood.QUIET, Mood.BUSY, Mood.SATURATED]),
        st.integers(0, 50_000),
        st.integers(1, 1000),
    ),
    max_size=80,
)


@settings(deadline=None)
@given(looks, st.sampled_from([0.001, 0.01, 0.5, 1.0]), st.integers(0, 2000))
def test_beside_traffic_the_share_is_never_passed(
    moves: list[tuple[float, Mood, int, int]], share: float, floor: int
) -> None:
    """Whoever asks only what there is room for never spends more beside users than their share of any window."""
    spec = CostSpec(share=share, window=100.0, floor=floor)
    ledger, now, counter = Ledger(spec), 0.0, 0.0
    served: list[tuple[float, float]] = []
    beside: list[tuple[float, int]] = []
    ledger.serve(0, 0)
    for pause, mood, tokens, cost in moves:
        now += pause
        counter += tokens
        served.append((now, tokens))
        ledger.serve(now, counter)
        if cost <= ledger.room(now, mood).left:
            ledger.spend(now, cost, mood)
            counter += cost
            beside += [(now, cost)] if mood in {Mood.BUSY, Mood.SATURATED} else []
        start = now - spec.window
        taken = sum(one for at, one in beside if at >= start)
        got = sum(one for at, one in served if at >= start)
        if mood in {Mood.BUSY, Mood.SATURATED} and beside and beside[-1][0] == now:
            assert taken <= share * got + 1e-6


@settings(deadline=None)
@given(looks)
def test_the_account_stays_small(moves: list[tuple[float, Mood, int, int]]) -> None:
    """Looks every moment for hours are put together."""
    ledger, now, counter = Ledger(CostSpec(window=10.0)), 0.0, 0.0
    for _ in range(20):
        for pause, _mood, tokens, _cost in moves:
            now += pause / 100
            counter += tokens
            ledger.serve(now, counter)
    assert len(ledger._served) <= 122


@pytest.mark.parametrize("mood", list(Mood))
def test_nothing_spent_is_nothing(mood: Mood) -> None:
    """A probe that was skipped costs nothing."""
    ledger = Ledger(SPEC)
    ledger.spend(0, 0, mood)
    assert ledger.room(0, Mood.QUIET).left == 500
