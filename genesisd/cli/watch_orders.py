"""``genesisctl watch accept``, ``decline``, ``snooze``, ``forget`` and ``sweep``: what people say to the watch."""

from __future__ import annotations

import time
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import Session, usage
from genesisd.cli.watch_text import SWEEPS_HEAD, describe_decision, describe_forgotten, sweep_line, sweep_row
from genesisd.cli.watch_words import complete_decision, complete_pull_request, pull_request, until
from genesisd.control.client import Client, ControlError

_OUTCOMES = {"done": exits.OK, "partial": exits.UNHEALTHY}
_KINDS = {"all": "nightly", "urgent": "hourly", "afresh": "weekly"}
_DECISION: dict[str, Any] = {"metavar": "ID", "type": click.IntRange(min=0), "shell_complete": complete_decision}


@click.command(
    cls=Verb, examples="genesisctl watch accept 3\ngenesisctl watch accept 3 --why 'retired in the next release'"
)
@click.argument("decision", **_DECISION)
@click.option("--why", metavar="TEXT", default="", help="What you do about it.")
@click.pass_obj
def accept(session: Session, decision: int, why: str) -> int:
    """Say that a decision was acted on, or will be. Nothing is retired or changed by it.

    Exits with 5 for a retire candidate that no dossier lies before, and for a decision that has passed.
    """
    with session.client() as client:
        return _told(session, client.accept(decision, why))


@click.command(
    cls=Verb,
    examples="""
    genesisctl watch decline 4 --why 'no such card here' --revisit-when 'gpu.sm >= 89'
    genesisctl watch decline 4 --why 'not our models' --revisit-when 'model: gemma-4'
    """,
)
@click.argument("decision", **_DECISION)
@click.option("--why", metavar="TEXT", required=True, help="The reason, for whoever asks later.")
@click.option("--revisit-when", multiple=True, metavar="WHEN", help="Ask again as soon as this is true of the configuration or the machine. May be repeated: one is enough.")  # fmt: skip
@click.pass_obj
def decline(session: Session, decision: int, why: str, revisit_when: tuple[str, ...]) -> int:
    """Say no to a decision. It is not made again until what it was declined for changes."""
    if not why.strip():
        raise usage("--why is empty: without a reason nobody knows later whether it still holds")
    with session.client() as client:
        return _told(session, client.decline(decision, why, revisit_when))


@click.command(
    cls=Verb,
    examples="genesisctl watch snooze 4 --for 14d\ngenesisctl watch snooze 4 --until 2027-01-31 --why holidays",
)
@click.argument("decision", **_DECISION)
@click.option("--for", "for_", metavar="SPAN", help="How long: 12h, 14d, 2w.")
@click.option("--until", "day", metavar="TIME", help="Until when: 2027-01-31, 2027-01-31T12:00.")
@click.option("--why", metavar="TEXT", default="", help="What is waited for.")
@click.pass_obj
def snooze(session: Session, decision: int, for_: str | None, day: str | None, why: str) -> int:
    """Let a decision wait; then it opens again, if the facts still ask for it."""
    at = until(for_, day, time.time())
    with session.client() as client:
        return _told(session, client.snooze(decision, at, why))


@click.command(cls=Verb, examples="genesisctl watch forget vllm#42006\ngenesisctl watch forget 42006 --json")
@click.argument("pr", metavar="PR", shell_complete=complete_pull_request)
@click.pass_obj
def forget(session: Session, pr: str) -> int:
    """Drop what is believed of a pull request; the next sweep asks as if it never had.

    For one that is `contradicted` since a cache or a clock once told what was not so. What goes: upstream's answer,
    what pins have of it, its diffs and dossiers. Decisions and what was said to them stay. Exits with 5 while a sweep
    goes on.
    """
    with session.client() as client:
        gone = client.forget(pull_request(pr))
    if session.json:
        session.answer_json({"forgotten": gone})
    else:
        session.answer(describe_forgotten(gone))
        session.note("genesisctl watch sweep --now asks again")
    return exits.OK


def _told(session: Session, decision: dict[str, Any]) -> int:
    if session.json:
        session.answer_json({"decision": decision})
    else:
        session.answer("\n".join(describe_decision(decision, time.time(), session.paint)))
    return exits.OK


@click.command(
    cls=Verb,
    examples="""
    genesisctl watch sweep --now
    genesisctl watch sweep --now --rows urgent --no-wait
    genesisctl watch sweep --wait
    genesisctl watch sweep
    """,
)
@click.option("--now", is_flag=True, help="Begin one now; where one goes on, take part in that.")
@click.option("--rows", type=click.Choice([*_KINDS]), default="all", show_default=True, help="All, those of P0 and P1, or all with nothing taken from what was kept.")  # fmt: skip
@click.option("--wait/--no-wait", default=None, help="Follow it to its end, or not. [default: follow one that begins]")
@click.pass_obj
def sweep(session: Session, rows: str, wait: bool | None, *, now: bool) -> int:
    """Ask upstream now, or show how the sweeps went.

    Ctrl-C leaves the sweep to itself. Exits with 3 when a part of the rows got no answer, with 1 when it failed.
    """
    with session.client() as client:
        if not now and not wait:
            return _sweeps(session, client)
        begun = client.sweep(_KINDS[rows]) if now else None
        if begun is not None and wait is False:
            return _show(session, begun)
        return _show(session, _follow(session, client, None if begun is None else begun["id"] or None))


def _follow(session: Session, client: Client, sweep_id: int | None) -> dict[str, Any]:
    told: dict[str, Any] | None = None
    for told in client.sweep_progress(sweep_id):
        if told["finished"] is None:
            session.note(sweep_line(told))
    if told is None or told["finished"] is None:
        raise ControlError(
            "unavailable",
            "the daemon ended before the sweep did",
            hint="the next daemon takes it up again: genesisctl watch sweep --wait",
        )
    return told


def _show(session: Session, told: dict[str, Any]) -> int:
    if session.json:
        session.answer_json({"sweep": told})
    else:
        session.answer(sweep_line(told))
    return exits.OK if told["finished"] is None else _OUTCOMES.get(told["outcome"], exits.FAILED)


def _sweeps(session: Session, client: Client) -> int:
    told = client.watch()
    found = [*([told["sweep"]] if told["sweep"] else []), *told["recent"]]
    if session.json:
        session.answer_json({"sweeps": found})
    elif found:
        session.table(SWEEPS_HEAD, [sweep_row(one) for one in found])
    else:
        session.note("nothing was swept yet: genesisctl watch sweep --now")
    return exits.OK
