"""How many questions go into one request, and how that is remembered."""

import pytest

from genesisd.watch.sources.batches import REGROW, Size, recalled

NOW = 1_780_000_000.0


@pytest.mark.parametrize(
    ("note", "now"),
    [
        (None, 25),
        ("12", 25),
        ({}, 25),
        ({"size": 0, "at": NOW}, 25),
        ({"size": 26, "at": NOW}, 25),
        ({"size": True, "at": NOW}, 25),
        ({"size": 3.5, "at": NOW}, 25),
        ({"size": 12, "at": "noon"}, 25),
        ({"size": 12, "at": NOW}, 12),
        ({"size": 12, "at": NOW - REGROW + 1}, 12),
        ({"size": 12, "at": NOW - REGROW}, 24),
        ({"size": 20, "at": NOW - 10 * REGROW}, 25),
        ({"size": 12, "at": NOW + 5}, 24),
    ],
)
def test_what_is_kept_is_used_until_a_day_later(note, now):
    """A kept size holds for a day and is then doubled; one that makes no sense is forgotten."""
    assert recalled(note, NOW).now == now


def test_the_day_begins_anew_when_it_grows():
    """A grown size counts from then, so that it grows step by step."""
    assert recalled({"size": 6, "at": NOW - REGROW}, NOW) == Size(12, NOW)
    assert recalled(Size(6, NOW).note(), NOW + 1) == Size(6, NOW)


def test_it_only_shrinks():
    """What went through in smaller pieces makes it smaller, never larger, and never nothing."""
    assert Size(12, 1.0).shrunk(6, NOW) == Size(6, NOW)
    assert Size(12, 1.0).shrunk(12, NOW) == Size(12, 1.0)
    assert Size(12, 1.0).shrunk(20, NOW) == Size(12, 1.0)
    assert Size(12, 1.0).shrunk(0, NOW) == Size(1, NOW)
