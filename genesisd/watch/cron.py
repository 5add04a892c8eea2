"""Five cron fields as cron reads them, in UTC. Pure: times come in and go out as aware datetimes.

They are read here and not by the scheduler's own parser, which counts weekdays from Monday (0 would be Monday and
not Sunday) and lets a date match only where day and weekday both do.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: tuple[tuple[str, int, int, tuple[str, ...], int], ...] = (
    # name, lowest, highest, names, number of the first name
    ("minute", 0, 59, (), 0),
    ("hour", 0, 23, (), 0),
    ("day of the month", 1, 31, (), 0),
    ("month", 1, 12, _MONTHS, 1),
    ("weekday", 0, 7, _WEEKDAYS, 0),
)
_PART = re.compile(r"(?:\*|(?P<first>\w+)(?:-(?P<last>\w+))?)(?:/(?P<step>\d+))?")
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_FARTHEST = 366 * 9
"""Days: the 29th of February is missed for eight years around most turns of a century."""


@dataclass(frozen=True, slots=True)
class Cron:
    """Times of a day, and the days they come on.

    Attributes:
        minutes, hours, days, months: that match.
        weekdays: that match; 0 is Sunday.
        either: day and weekday are both restricted, so that one of them is enough.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either: bool

    def on(self, day: date) -> bool:
        """Whether it comes on that day."""
        by_day, by_weekday = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return day.month in self.months and (by_day or by_weekday if self.either else by_day and by_weekday)


def parse_cron(text: str) -> Cron:
    """Raises ValueError that names the field, what stands in it and what was expected."""
    fields = text.split()
    if len(fields) != len(_FIELDS):
        expected = "minute, hour, day of the month, month, weekday, such as '30 2 * * *'"
        raise ValueError(f"expected five cron fields ({expected}), not {len(fields)} in {text!r}")
    minutes, hours, days, months, weekdays = (
        frozenset(_values(field, *shape)) for field, shape in zip(fields, _FIELDS, strict=True)
    )
    either = not fields[2].startswith("*") and not fields[4].startswith("*")
    if not either and not any(day <= _LONGEST[month - 1] for day in days for month in months):
        raise ValueError(f"{text!r} never comes: none of its months has such a day")
    sundays = frozenset(day % 7 for day in weekdays)
    return Cron(tuple(sorted(minutes)), tuple(sorted(hours)), days, months, sundays, either)


def next_after(cron: Cron, at: datetime) -> datetime:
    """The first time of it that is later than ``at``."""
    at = at.astimezone(UTC)
    for n in range(_FARTHEST):
        day = at.date() + timedelta(days=n)
        if cron.on(day):
            for slot in _times(cron, day):
                if slot > at:
                    return slot
    raise ValueError("a cron that never comes")


def newest(cron: Cron, at: datetime) -> datetime:
    """The last time of it that is not later than ``at``."""
    at = at.astimezone(UTC)
    for n in range(_FARTHEST):
        day = at.date() - timedelta(days=n)
        if cron.on(day):
            for slot in reversed(tuple(_times(cron, day))):
                if slot <= at:
                    return slot
    raise ValueError("a cron that never comes")


def _times(cron: Cron, day: date) -> Iterator[datetime]:
    for hour in cron.hours:
        for minute in cron.minutes:
            yield datetime(day.year, day.month, day.day, hour, minute, tzinfo=UTC)


def _values(field: str, name: str, lowest: int, highest: int, names: tuple[str, ...], base: int) -> Iterator[int]:
    for part in field.split(","):
        found = _PART.fullmatch(part)
        if found is None:
            raise ValueError(_expected(field, name, lowest, highest, names))
        try:
            first = lowest if found["first"] is None else _number(found["first"], names, base)
            last = _number(found["last"], names, base) if found["last"] else first
        except ValueError:
            raise ValueError(_expected(field, name, lowest, highest, names)) from None
        if found["first"] is None or (found["step"] and not found["last"]):
            last = highest - (name == "weekday")
        step = int(found["step"] or 1)
        if not lowest <= first <= last <= highest or step == 0:
            raise ValueError(_expected(field, name, lowest, highest, names))
        yield from range(first, last + 1, step)


def _number(text: str, names: tuple[str, ...], base: int) -> int:
    lowered = text.lower()
    return names.index(lowered) + base if lowered in names else int(text)


def _expected(field: str, name: str, lowest: int, highest: int, names: tuple[str, ...]) -> str:
    named = f" or names such as {names[0]}" if names else ""
    return (
        f"cron field {name}: expected *, numbers from {lowest} to {highest}{named}, ranges from low to high, lists and"
        f" steps (*/15), not {field!r}"
    )
