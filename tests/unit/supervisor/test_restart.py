"""Restart intensity and back-off."""

from __future__ import annotations

import pytest

from genesisd.supervisor.model import Policy
from genesisd.supervisor.restart import admit, delay, within

POLICY = Policy(budget=3, window=100, backoff_initial=2, backoff_factor=3, backoff_max=10)


def test_the_window_slides():
    """What is older than the window counts no more; its very edge does not either."""
    assert within((1.0, 50.0, 99.0), 101.0, POLICY) == (50.0, 99.0)


def test_a_budget_is_spent_and_comes_back():
    """Three within the window, the fourth is refused, and is allowed when the first is old."""
    first = admit((), 0, POLICY)
    second = admit(first.restarts, 10, POLICY)
    third = admit(second.restarts, 20, POLICY)
    assert (first.delay, second.delay, third.delay) == (0, 2, 6)
    assert third.restarts == (0, 10, 20)
    assert admit(third.restarts, 99, POLICY) is None
    later = admit(third.restarts, 100.5, POLICY)
    assert (later.restarts, later.delay) == ((10, 20, 100.5), 6)


def test_no_budget_means_no_restart():
    """Not even the first."""
    assert admit((), 0, Policy(budget=0)) is None


@pytest.mark.parametrize(("nth", "seconds"), [(0, 0), (1, 0), (2, 2), (3, 6), (4, 10), (5, 10), (10_000, 10)])
def test_back_off_grows_to_its_cap(nth, seconds):
    """And never overflows."""
    assert delay(nth, POLICY) == seconds


def test_a_gentle_factor_reaches_the_cap_too():
    """However slowly it grows."""
    assert delay(1_000, Policy(backoff_initial=1, backoff_factor=1.01, backoff_max=60)) == 60
    assert delay(2, Policy(backoff_initial=90, backoff_max=60)) == 60
