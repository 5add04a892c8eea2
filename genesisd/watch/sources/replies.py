"""What came back: an answer, or why there is none. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from genesisd.watch.model import WhyUnknown


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of 200 or 304 (``body`` empty). ``headers`` have names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""

    @property
    def unchanged(self) -> bool:
        """What the ETag stood for is still so."""
        return self.status == 304

    @property
    def age(self) -> float:
        """Seconds that a cache on the way says it has had it."""
        told = self.headers.get("age", "")
        return float(told) if told.isdecimal() and len(told) < 10 else 0.0

    def json(self) -> Any:
        """The body as JSON; raises ValueError."""
        return _json(self.body)


@dataclass(frozen=True, slots=True)
class Failure:
    """No answer. ``heavy``: a smaller question might get one. ``status`` is 0 where there was none."""

    why: WhyUnknown
    text: str
    status: int = 0
    heavy: bool = False


_LIMIT = re.compile(rb"rate.?limit", re.IGNORECASE)
_MEANING = {
    404: (WhyUnknown.NOT_FOUND, "not there, or not for us to see"),
    410: (WhyUnknown.GONE, "gone"),
    451: (WhyUnknown.BARRED, "withheld for legal reasons"),
}


def failure(status: int, message: str) -> Failure:
    """What a status other than 200 and 304 means; ``message`` is what upstream said with it."""
    why, text = _MEANING.get(status, (WhyUnknown.OUTAGE, f"answered {status}"))
    return Failure(why, f"{text}: {message}" if message and status not in _MEANING else text, status)


def _json(body: bytes) -> Any:
    """Raises ValueError, also for brackets within brackets without end, which Python's reader gives up on in its own way."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def limited(reply: Reply) -> bool:
    """GraphQL tells of either limit with a good status and no data."""
    if len(reply.body) > 8192 or not _LIMIT.search(reply.body):
        return False
    try:
        told = reply.json()
        return bool(told.get("errors")) and not told.get("data")
    except (ValueError, AttributeError):
        return False


def said_in(body: bytes) -> str:
    """The message of a short answer, on one line."""
    if len(body) > 4096:
        return ""
    try:
        text = str(_json(body).get("message", ""))
    except (ValueError, AttributeError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:200]
