"""Cron lines as cron reads them."""

from __future__ import annotations

import random
import re
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest

from genesisd.watch.cron import newest, next_after, parse_cron


def at(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("line", "before", "expected"),
    [
        ("30 2 * * *", "2026-10-25T02:29:59", "2026-10-25T02:30"),
        ("30 2 * * *", "2026-10-25T02:30", "2026-10-26T02:30"),
        ("5 * * * *", "2026-10-25T23:06", "2026-10-26T00:05"),
        ("*/15 8-9 * * *", "2026-10-25T08:31", "2026-10-25T08:45"),
        ("7/20 0 * * *", "2026-10-25T00:08", "2026-10-25T00:27"),
        ("0 4 * * 0", "2026-11-24T00:00", "2026-11-29T04:00"),
        ("0 4 * * 7", "2026-11-24T00:00", "2026-11-29T04:00"),
        ("0 4 * * SUN", "2026-11-24T00:00", "2026-11-29T04:00"),
        ("0 4 * * 1-5", "2026-11-27T05:00", "2026-11-30T04:00"),
        ("0 4 * * mon,thu", "2026-11-24T00:00", "2026-11-26T04:00"),
        ("0 4 * * fri-7", "2026-11-25T00:00", "2026-11-27T04:00"),
        ("0 0 1 jan *", "2026-11-24T00:00", "2027-01-01T00:00"),
        ("0 0 29 2 *", "2026-11-24T00:00", "2028-02-29T00:00"),
        ("0 0 29 2 *", "2096-03-01T00:00", "2104-02-29T00:00"),
        ("0 0 13 * 5", "2026-11-01T00:00", "2026-11-06T00:00"),
        ("0 0 13 * 5", "2026-10-10T00:00", "2026-10-13T00:00"),
        ("0 0 */2 * 5", "2026-11-01T00:00", "2026-11-13T00:00"),
        ("0 0 31 * *", "2026-11-01T00:00", "2026-12-31T00:00"),
    ],
)
def test_the_next_time(line, before, expected):
    """Fields, names, steps; 0 and 7 are Sunday; a restricted day and a restricted weekday are either-or."""
    assert next_after(parse_cron(line), at(before)) == at(expected)


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("60 2 * * *", "minute"),
        ("-1 2 * * *", "minute"),
        ("a 2 * * *", "minute"),
        ("*/0 2 * * *", "minute"),
        ("1,,2 2 * * *", "minute"),
        ("0 24 * * *", "hour"),
        ("0 5-3 * * *", "hour"),
        ("0 0 0 * *", "day of the month"),
        ("0 0 L * *", "day of the month"),
        ("0 0 ? * *", "day of the month"),
        ("0 0 * 13 *", "month"),
        ("0 0 * sun *", "month"),
        ("0 0 * * 8", "weekday"),
        ("0 0 * * jan", "weekday"),
        ("0 0 * * fri-mon", "weekday"),
        ("0 0 * * 5#2", "weekday"),
    ],
)
def test_what_cannot_be_read_names_the_field(line, field):
    """And says what was expected in it."""
    stands = line.split()[["minute", "hour", "day of the month", "month", "weekday"].index(field)]
    with pytest.raises(ValueError, match=f"cron field {field}: expected .*not {re.escape(repr(stands))}"):
        parse_cron(line)


def test_names_are_offered_where_there_are_any():
    """What was expected, in full."""
    with pytest.raises(ValueError, match="expected") as minute:
        parse_cron("60 0 * * *")
    with pytest.raises(ValueError, match="expected") as month:
        parse_cron("0 0 * 13 *")
    told = "ranges from low to high, lists and steps (*/15), not"
    assert str(minute.value) == f"cron field minute: expected *, numbers from 0 to 59, {told} '60'"
    assert str(month.value) == f"cron field month: expected *, numbers from 1 to 12 or names such as jan, {told} '13'"


@pytest.mark.parametrize("line", ["@daily", "30 2 * *", "0 30 2 * * *", ""])
def test_five_fields(line):
    """No more, no fewer, no nicknames."""
    with pytest.raises(ValueError, match=r"expected five cron fields \(minute, hour, .*'30 2 \* \* \*'\), not \d in"):
        parse_cron(line)


@pytest.mark.parametrize("line", ["0 0 31 2 *", "0 0 31 feb,apr *", "0 0 30 2 *"])
def test_what_never_comes(line):
    """A line that would silently switch the sweep off is refused."""
    with pytest.raises(ValueError, match="never comes"):
        parse_cron(line)


def test_times_of_any_zone_are_compared_as_moments(monkeypatch):
    """02:30 UTC is 08:00 in Kolkata, and where the machine stands does not matter."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    kolkata = timezone(timedelta(hours=5, minutes=30))
    before = datetime(2026, 10, 25, 7, 59, tzinfo=kolkata)
    assert next_after(parse_cron("30 2 * * *"), before) == at("2026-10-25T02:30")
    assert newest(parse_cron("30 2 * * *"), before + timedelta(minutes=1)) == at("2026-10-25T02:30")
    monkeypatch.undo()
    time.tzset()


def test_newest_and_next_leave_nothing_between():
    """From the newest, the next is the next; against a search minute by minute."""
    drawn = random.Random(5)
    lines = ["30 2 * * *", "5 * * * *", "*/17 3-5 * * 1,4", "0 4 * * 0", "59 23 31 * *", "0 0 13 * 5"]
    for line in lines:
        cron = parse_cron(line)
        for _ in range(40):
            now = at("2026-01-01T00:00") + timedelta(seconds=drawn.randrange(365 * 86400))
            slot, after = newest(cron, now), next_after(cron, now)
            assert slot <= now < after
            assert next_after(cron, slot) == after
            assert newest(cron, after) == after
            for field, value in (("minutes", slot.minute), ("hours", slot.hour)):
                assert value in getattr(cron, field)
            assert cron.on(slot.date())
