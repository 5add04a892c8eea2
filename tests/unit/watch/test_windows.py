"""Windows: what a schedule promises one sweep in."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from genesisd.watch.cron import next_after, parse_cron
from genesisd.watch.kinds import SweepKind
from genesisd.watch.windows import begins, due, moment, next_begin, window_of

NIGHTLY = parse_cron("30 2 * * *")
HOURLY = parse_cron("5 * * * *")


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "window"),
    [
        ("30 2 * * *", "2026-10-25"),
        ("0 4 * * 0", "2026-10-25"),
        ("5 * * * *", "2026-10-25T02Z"),
        ("5 2,14 * * *", "2026-10-25T02Z"),
        ("*/30 2 * * *", "2026-10-25T02:30Z"),
    ],
)
def test_a_window_is_what_comes_once(line, window):
    """A date, an hour or a minute: the longest that the schedule never names twice."""
    assert window_of(parse_cron(line), at("2026-10-25T02:30")) == window


def test_another_minute_is_the_same_window():
    """Who moves the nightly sweep by an hour has none twice."""
    now = at("2026-10-25T09:00")
    windows = {due(parse_cron(line), SweepKind.NIGHTLY, now, 0, "x").window for line in ("30 2 * * *", "15 4 * * *")}
    assert windows == {"2026-10-25"}


def test_jitter_is_drawn_once_and_bounded():
    """The same for one box and slot; others for other boxes; never half way into the next slot."""
    slots = [at("2026-10-25T00:05") + timedelta(hours=n) for n in range(200)]
    delays = [(begins(HOURLY, SweepKind.HOURLY, slot, 3600, "a") - slot).total_seconds() for slot in slots]
    assert delays == [(begins(HOURLY, SweepKind.HOURLY, slot, 3600, "a") - slot).total_seconds() for slot in slots]
    assert delays != [(begins(HOURLY, SweepKind.HOURLY, slot, 3600, "b") - slot).total_seconds() for slot in slots]
    assert min(delays) >= 0
    assert max(delays) <= 1800
    assert max(delays) > 1500
    assert min(delays) < 300
    assert all(begins(HOURLY, SweepKind.HOURLY, slot, 0, "a") == slot for slot in slots)


def test_due_and_next_meet():
    """Until a window begins, the one before is due; at that moment it is itself due, and not late."""
    for n in range(50):
        slot = at("2026-10-25T00:05") + timedelta(hours=n)
        start = begins(HOURLY, SweepKind.HOURLY, slot, 300, "a")
        just_before = start - timedelta(microseconds=1)
        assert next_begin(HOURLY, SweepKind.HOURLY, just_before, 300, "a") == start
        assert due(HOURLY, SweepKind.HOURLY, just_before, 300, "a").window == window_of(
            HOURLY, slot - timedelta(hours=1)
        )
        now = due(HOURLY, SweepKind.HOURLY, start, 300, "a")
        assert (now.window, now.slot, now.late) == (window_of(HOURLY, slot), slot.timestamp(), 0.0)
        assert not now.is_late
        after = next_begin(HOURLY, SweepKind.HOURLY, start, 300, "a")
        assert after == begins(HOURLY, SweepKind.HOURLY, next_after(HOURLY, slot), 300, "a")


def test_while_one_waits_the_one_before_is_as_late_as_it_is():
    """It was to begin by its own draw, of its own kind and box."""
    slot = at("2026-10-25T02:30")
    start = begins(NIGHTLY, SweepKind.NIGHTLY, slot, 3600, "a")
    before = begins(NIGHTLY, SweepKind.NIGHTLY, slot - timedelta(days=1), 3600, "a")
    now = due(NIGHTLY, SweepKind.NIGHTLY, start - timedelta(seconds=1), 3600, "a")
    assert now.late == (start - before).total_seconds() - 1
    assert (now.kind, now.window, now.is_late) == (SweepKind.NIGHTLY, "2026-10-24", True)


def test_only_the_newest_of_many_missed_windows_is_due():
    """Five days of silence are one late sweep."""
    found = due(NIGHTLY, SweepKind.NIGHTLY, at("2026-10-25T08:30"), 0, "a")
    assert (found.window, found.late, found.is_late) == ("2026-10-25", 6 * 3600.0, True)


def test_moments_are_utc():
    """Whatever zone the machine is set to."""
    assert moment(0.0).isoformat() == "1970-01-01T00:00:00+00:00"
