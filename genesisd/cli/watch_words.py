"""What people write for a pull request, a span of time or a day, and what is completed. Reads, never asks back."""

from __future__ import annotations

import re
import time
from datetime import datetime

import click

from genesisd.cli.names import known_words
from genesisd.cli.session import usage

_PAGE = re.compile(r"https?://[^/]+/(?P<repo>[\w.-]+/[\w.-]+)/(?:pull|issues)/(?P<number>\d+)(?:[/#?].*)?")
_SPAN = re.compile(r"(\d+(?:\.\d+)?)([hdw])")
_SECONDS = {"h": 3600.0, "d": 86400.0, "w": 604800.0}
_LONGEST = 100 * 365 * 86400.0


def pull_request(text: str) -> str:
    """``vllm#7`` from itself, ``7``, ``#7`` or the address of its page; whatever else is left to the daemon to judge."""
    if page := _PAGE.fullmatch(text):
        repo = page["repo"]
        return f"{'vllm' if repo == 'vllm-project/vllm' else repo}#{page['number']}"
    bare = text.removeprefix("#")
    return f"vllm#{bare}" if bare.isdecimal() else text


def until(for_: str | None, day: str | None, now: float) -> float:
    """Wall time of ``14d`` from now, or of a day.

    Raises:
        ControlError: none or both were said, or what was said cannot be read or is past.
    """
    if (for_ is None) == (day is None):
        raise usage("until when? Say --for 14d, or --until 2027-01-31")
    if for_ is not None:
        span = _SPAN.fullmatch(for_)
        if span is None:
            raise usage(f"cannot read --for {for_!r}", "write 12h, 14d or 2w")
        return now + _bounded(float(span[1]) * _SECONDS[span[2]], f"--for {for_}")
    try:
        at = datetime.fromisoformat(day or "").timestamp()
    except ValueError:
        raise usage(f"cannot read --until {day!r}", "write 2027-01-31 or 2027-01-31T12:00") from None
    if at <= now:
        raise usage(f"--until {day} is past: it is {time.strftime('%Y-%m-%dT%H:%M', time.localtime(now))}")
    _bounded(at - now, f"--until {day}")
    return at


def _bounded(seconds: float, said: str) -> float:
    """The same, if somebody lives to see it. Raises ControlError."""
    if seconds > _LONGEST:
        said = said if len(said) <= 60 else f"{said[:57]}..."
        raise usage(f"{said} is longer than a century", "decline it instead: genesisctl watch decline ID --why")
    return seconds


def complete_pull_request(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Those that are watched."""
    return known_words(ctx, incomplete, lambda client: [one["ref"] for one in client.watch_rows()])


def complete_decision(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Those that are open."""
    return known_words(ctx, incomplete, lambda client: [str(one["id"]) for one in client.decisions(open_only=True)])
