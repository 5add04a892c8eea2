"""``genesisctl logs`` and ``genesisctl events``: streams, with an end or without."""

from __future__ import annotations

import re
import sys
import time
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.names import complete_worker, suggest
from genesisd.cli.session import Session, usage
from genesisd.cli.text import clean
from genesisd.control.client import ControlError
from genesisd.errors import GenesisError

_AGO = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_SGR_ONLY = re.compile(r"\x1b\[[0-9;]*m")


@click.command(cls=Verb, examples="genesisctl logs main\ngenesisctl logs main -f\ngenesisctl logs main -n 1000 | less")
@click.argument("name", shell_complete=complete_worker)
@click.option("-f", "--follow", is_flag=True, help="Go on with what it writes.")
@click.option("-n", "--lines", type=click.IntRange(0, 100_000), default=100, show_default=True, help="Lines to begin with.")  # fmt: skip
@click.pass_obj
def logs(session: Session, name: str, lines: int, *, follow: bool) -> int:
    """What a worker wrote."""
    with session.client() as client:
        try:
            for told in client.logs(name, lines, follow=follow):
                _print_line(session, told)
        except GenesisError as problem:
            suggest(client, problem, name)
            raise
    return _end(follow=follow)


def _print_line(session: Session, told: dict[str, Any]) -> None:
    if session.json:
        session.answer_json(told)
        session.flush()
    else:
        session.line(tame(told["line"]) if sys.stdout.isatty() else told["line"])


def tame(line: str) -> str:
    """A worker may colour its log on our terminal, and nothing else."""
    colours = _SGR_ONLY.findall(line)
    plain = [clean(part) for part in _SGR_ONLY.split(line)]
    text = "".join(part + colour for part, colour in zip(plain, [*colours, ""], strict=True))
    return f"{text}\x1b[0m" if colours else text


@click.command(
    cls=Verb,
    examples="genesisctl events --since 1h\ngenesisctl events -f\ngenesisctl events --worker main --json",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what happens.")
@click.option("--since", metavar="TIME", help="How long ago (90s, 10m, 2h, 1d), or a time (2027-01-31T12:00).")
@click.option("--worker", metavar="NAME", shell_complete=complete_worker, help="Only events of this worker.")
@click.pass_obj
def events(session: Session, since: str | None, worker: str | None, *, follow: bool) -> int:
    """What happened: changes of phase, orders, deaths."""
    start = None if since is None else parse_since(since, time.time())
    with session.client() as client:
        try:
            for event in client.events(start, follow=follow, worker=worker):
                if session.json:
                    session.answer_json(event)
                    session.flush()
                else:
                    session.line(event_line(event))
        except GenesisError as problem:
            suggest(client, problem, worker or "")
            raise
    return _end(follow=follow)


def event_line(event: dict[str, Any]) -> str:
    """An event for people, in local time."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(event["at"]))
    fields = " ".join(f"{key}={value}" for key, value in event["fields"].items())
    return clean(f"{when}  {event['worker'] or '-'}  {event['kind']}  {fields}".rstrip())


def parse_since(text: str, now: float) -> float:
    """Wall time from ``10m`` (ago), an ISO time (local unless it says otherwise) or seconds since the epoch."""
    if ago := _AGO.fullmatch(text):
        return max(0.0, now - float(ago[1]) * _SECONDS[ago[2]])
    if text.isdecimal() and len(text) > 8:
        return float(text)
    from datetime import datetime  # noqa: PLC0415 - costs start-up time

    try:
        return max(0.0, datetime.fromisoformat(text).astimezone().timestamp())
    except (ValueError, OverflowError, OSError):
        raise usage(f"cannot read the time {text!r}", "write 90s, 10m, 2h or 1d ago, or 2027-01-31T12:00") from None


def _end(*, follow: bool) -> int:
    """A followed stream never ends by itself."""
    if follow:
        raise ControlError("not_running", "the daemon ended the stream", hint="has it stopped? genesisctl status")
    return exits.OK
