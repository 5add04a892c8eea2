"""How long upstream wants to be left alone, read from what it answered. Pure.

Upstream has two kinds of limits, and both come as 403 or 429: the hourly one tells when it ends, the one against
haste may tell how long to wait, or nothing at all, and its wording has changed before. So the wording decides only
whether a second refusal is taken for a limit or for a permission that is lacking, never whether to wait.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from genesisd.watch.cost import Budget

BARE = 60.0
"""Seconds after a refusal that names no time; doubled with each that follows."""
LONGEST = 86400.0
"""Seconds; whoever is told to wait for longer asks once a day, so that no slip of a proxy's silences a daemon for good."""
MOST_REFUSALS = 5
"""In a row; whoever goes on asking may be shut out for good."""
_WORDS = re.compile(r"rate.?limit|abuse|secondary|too many|quota|slow down", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Refusal:
    """Leave upstream alone for ``seconds``; ``named`` says whether upstream itself spoke of a limit or a time."""

    seconds: float
    named: bool
    text: str


def refusal(status: int, headers: Mapping[str, str], text: str, *, wall: float, before: int) -> Refusal | None:
    """What an answer with ``status`` asks for, or None where it asks for nothing.

    Args:
        status: 429 also for an answer of GraphQL's that says so in its body.
        headers: names in small letters.
        text: the beginning of the body.
        wall: our own time, for want of upstream's.
        before: refusals in a row before this one.
    """
    after = retry_after(headers, wall)
    if status in {403, 429}:
        if after is not None:
            return Refusal(max(1.0, after), named=True, text=f"told to wait {after:.0f} s")
        if headers.get("x-ratelimit-remaining") == "0" and (left := _until_reset(headers, wall)) is not None:
            return Refusal(max(1.0, left + 1.0), named=True, text=f"the hour's requests are spent, {left:.0f} s to go")
        named = status == 429 or bool(_WORDS.search(text))
        return Refusal(BARE * 2 ** min(before, 6), named=named, text=f"refused with {status} and no time named")
    if status == 503 and after is not None:
        return Refusal(max(1.0, after), named=True, text=f"busy, told to wait {after:.0f} s")
    return None


def spent(headers: Mapping[str, str], wall: float) -> float | None:
    """Seconds until there is anything to spend again, where this answer (itself good) was the last of the hour."""
    if headers.get("x-ratelimit-remaining") != "0":
        return None
    left = _until_reset(headers, wall)
    return None if left is None else max(1.0, left + 1.0)


def budget(headers: Mapping[str, str]) -> Budget | None:
    """What an answer's headers say is left."""
    limit, remaining, resets = (_number(headers.get(f"x-ratelimit-{name}")) for name in ("limit", "remaining", "reset"))
    if remaining is None:
        return None
    return Budget(
        limit=None if limit is None else int(limit),
        remaining=int(remaining),
        resets_at=resets,
    )


def retry_after(headers: Mapping[str, str], wall: float) -> float | None:
    """Seconds in ``Retry-After``, which holds seconds or a date."""
    value = headers.get("retry-after", "").strip()
    if not value:
        return None
    if (seconds := _number(value)) is not None:
        return min(LONGEST, seconds)
    moment = _date(value)
    return None if moment is None else min(LONGEST, max(0.0, moment - server_time(headers, wall)))


def server_time(headers: Mapping[str, str], wall: float) -> float:
    """Upstream's own clock where it told it: ours may be wrong, and the difference of two times must come from one."""
    return _date(headers.get("date", "")) or wall


def _until_reset(headers: Mapping[str, str], wall: float) -> float | None:
    resets = _number(headers.get("x-ratelimit-reset"))
    return None if resets is None else min(LONGEST, max(0.0, resets - server_time(headers, wall)))


def _number(value: str | None) -> float | None:
    return float(value) if value is not None and re.fullmatch(r"\d{1,12}", value.strip()) else None


def _date(value: str) -> float | None:
    try:
        moment: datetime = parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
