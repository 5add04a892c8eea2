import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.probes.slope import HOUR, Growth, blocks_needed, growth

CONFIDENCE = 0.99
BLOCKS = blocks_needed(CONFIDENCE)
values = st.floats(-1e12, 1e12, allow_nan=False)
series = st.lists(values, min_size=BLOCKS, max_size=300)


def spaced(every: list[float], period: float = 15.0) -> list[tuple[float, float]]:
    return [(period * i, value) for i, value in enumerate(every)]


@pytest.mark.parametrize(("confidence", "blocks"), [(0.75, 8), (0.9, 10), (0.99, 14), (0.999, 18)])
def test_confidence_sets_the_number_of_blocks(confidence: float, blocks: int) -> None:
    """At most one of so many fair coins shows tails four times more rarely than confidence leaves room for."""
    assert blocks_needed(confidence) == blocks
    fewer = [n for n in range(2, blocks - 1) if 4 * (n + 1) / 2**n <= 1 - confidence]
    assert not fewer


@settings(deadline=None)
@given(series)
def test_the_same_for_the_same(every: list[float]) -> None:
    """No chance, no memory."""
    assert growth(spaced(every), CONFIDENCE) == growth(spaced(every), CONFIDENCE)


@settings(deadline=None)
@given(series, st.floats(0, 1e9))
def test_a_step_is_no_growth(every: list[float], size: float) -> None:
    """One step in a level series is never a positive rate, however high it is and wherever it comes."""
    for place in (1, len(every) // 2, len(every) - 1):
        level = [0.0] * place + [size] * (len(every) - place)
        found = growth(spaced(level), CONFIDENCE)
        assert found
        assert found.rate <= 0


@settings(deadline=None)
@given(st.integers(BLOCKS, 500), st.floats(1e-3, 1e6), st.floats(1.0, 100.0))
def test_a_straight_line_is_its_own_rate(count: int, rate: float, period: float) -> None:
    """Of a line the bound is the slope; blocks of unequal size leave it within a sixth."""
    found = growth([(period * i, rate * period * i) for i in range(count)], CONFIDENCE)
    assert found
    assert found.rate == pytest.approx(rate, rel=0.5 if count < 4 * BLOCKS else 0.15)
    assert found.total > 0


@settings(deadline=None)
@given(series)
def test_what_never_rises_is_no_growth(every: list[float]) -> None:
    """A series that falls or stays has no positive bound."""
    found = growth(spaced(sorted(every, reverse=True)), CONFIDENCE)
    assert found
    assert found.rate <= 0
    assert not found.exceeds(0.0)


@settings(deadline=None)
@given(series, values)
def test_the_level_does_not_matter(every: list[float], level: float) -> None:
    """Growth of a series on a pedestal is growth of the series, up to rounding."""
    whole = [round(value) for value in every]
    lifted = growth(spaced([value + round(level) for value in whole]), CONFIDENCE)
    plain = growth(spaced(list(map(float, whole))), CONFIDENCE)
    assert lifted
    assert plain
    assert lifted.rate == pytest.approx(plain.rate, abs=1e-6)


@settings(deadline=None)
@given(st.lists(values, max_size=BLOCKS - 1))
def test_too_few_points_say_nothing(every: list[float]) -> None:
    """Fewer points than blocks are no series."""
    assert growth(spaced(every), CONFIDENCE) is None


def test_points_of_one_moment_say_nothing() -> None:
    """Without time there is no rate."""
    assert growth([(0.0, float(i)) for i in range(100)], CONFIDENCE) is None


@pytest.mark.parametrize("count", [BLOCKS, 60, 240])
@pytest.mark.parametrize("memory", [0.0, 0.9, 1.0], ids=["independent", "bound to itself", "a walk"])
def test_chance_is_told_no_more_often_than_confidence_says(memory: float, count: int) -> None:
    """Of 4000 series without drift, whether independent or each value bound to the last, 1 % at most seem to grow."""
    rng = random.Random(7)
    found = 0
    for _ in range(4000):
        value, every = 0.0, []
        for _ in range(count):
            value = memory * value + rng.gauss(0, 1)
            every.append(value)
        one = growth(spaced(every), CONFIDENCE)
        assert one
        found += one.rate > 0
    assert found <= 0.01 * 4000


@pytest.mark.parametrize(
    ("rate", "total", "exceeds"),
    [(101, 101, True), (100, 500, False), (500, 100, False), (-5, 500, False), (101, 100.5, True)],
)
def test_growth_is_told_once_it_is_both_fast_and_large(rate: float, total: float, exceeds: bool) -> None:
    """The rate alone is not enough: it has to have brought what an hour may bring."""
    assert Growth(rate / HOUR, total, HOUR).exceeds(100) is exceeds


@pytest.mark.parametrize(("fall", "grows"), [(0.0, True), (0.9, True), (1.1, False), (50.0, False)])
def test_one_small_fall_is_excused_and_a_great_one_is_not(fall: float, grows: bool) -> None:
    """A dip among growths is noise; more than a typical growth in one block was given back."""
    heights = [0.0]
    for place in range(1, BLOCKS):
        heights.append(heights[-1] + (-fall if place == BLOCKS // 2 else 1.0))
    found = growth(spaced(heights), CONFIDENCE)
    assert found
    assert (found.rate > 0) is grows
