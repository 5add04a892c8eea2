from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.probes.window import Window


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100), st.integers(0, 50), st.booleans()), max_size=60))
def test_growth_is_what_was_counted_within_the_window(moves: list[tuple[int, int, bool]]) -> None:
    """Whatever restarts lie in between, growth is the sum of what came after the look at which the window begins."""
    window, at, counter, events, looks = Window(100), 0.0, 0.0, [], []
    for pause, more, again in moves:
        at += pause
        counter = more if again else counter + more
        unseen = again and looks and more >= looks[-1][1]  # such a restart cannot be told from growth
        if looks and not unseen:
            events.append((at, more))
        window.add(at, {"n": float(counter)})
        looks.append((at, counter))
    start = max((one for one, _ in looks if one <= at - 100), default=looks[0][0] if looks else 0.0)
    least = sum(more for when, more in events if when > start)
    assert window.growth("n") >= least - 1e-9
    assert window.growth("unheard of") == 0


def test_all_counters_of_a_server_begin_again_together() -> None:
    """One that is higher than before after a restart counts from zero, since another one fell."""
    window = Window(100)
    window.add(0, {"a": 1000, "b": 5})
    window.add(1, {"a": 10, "b": 8})
    assert (window.growth("a"), window.growth("b")) == (10, 8)


def test_the_look_before_the_window_is_where_it_begins() -> None:
    """A window is never shorter than told, and looks that are older than its first are forgotten."""
    window = Window(10)
    for at in (0, 6, 12, 18):
        window.add(at, {"n": at * 10.0})
    assert window.span == 12
    assert window.growth("n") == 120


def test_a_counter_that_appears_later_counts_from_zero() -> None:
    """vLLM shows a family once it was used."""
    window = Window(10)
    window.add(0, {})
    window.add(1, {"n": 7})
    assert window.growth("n") == 7
