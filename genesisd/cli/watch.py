"""``genesisctl watch``: what became of the pull requests that matter here, and what follows from it."""

from __future__ import annotations

import time
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.handed import Handed
from genesisd.cli.incidents import paragraph
from genesisd.cli.listing import ListGroup
from genesisd.cli.session import Session
from genesisd.cli.text import clean
from genesisd.cli.watch_text import (
    DECISIONS_HEAD,
    ROWS_HEAD,
    decision_row,
    describe_dossier,
    describe_status,
    describe_watched,
    row_row,
)
from genesisd.cli.watch_words import complete_pull_request, pull_request

PROGRAM = "genesisd.watchtool"
_ORDERS = "genesisd.cli.watch_orders"

watch = ListGroup(
    "watch",
    help="Pull requests upstream: what became of them, and what follows.",
    late={
        "accept": (f"{_ORDERS}:accept", "Say that a decision was acted on, or will be."),
        "decline": (f"{_ORDERS}:decline", "Say no to a decision, for a reason."),
        "snooze": (f"{_ORDERS}:snooze", "Let a decision wait."),
        "forget": (f"{_ORDERS}:forget", "Drop what is believed of a pull request."),
        "sweep": (f"{_ORDERS}:sweep", "Ask upstream now, or show how the sweeps went."),
    },
    examples="""
    genesisctl watch check upstream_watchlist.yaml
    genesisctl watch sweep --now
    genesisctl watch decisions
    genesisctl watch why vllm#42006
    genesisctl watch diff vllm#42006
    genesisctl watch report --html -o report.html
    """,
)
watch.add_command(Handed("check", help="Contradictions in a watchlist; needs no daemon.", program=PROGRAM))


@watch.command("status", cls=Verb, examples="genesisctl watch status\ngenesisctl watch status --json")
@click.pass_obj
def status(session: Session) -> int:
    """The watch in short.

    How many rows stand how, how old the answers are, what waits for a person, what keeps it from knowing more.
    Exits with 3 when a row was not answered for longer than allowed.
    """
    with session.client() as client:
        told = client.watch()
    if session.json:
        session.answer_json(told)
    elif told["watchlist"] is None:
        session.note("nothing is watched: set watch.watchlist in the configuration")
    else:
        session.answer(describe_status(told, time.time(), session.paint))
    return exits.UNHEALTHY if told["stale"] else exits.OK


@watch.command("list", cls=Verb, examples="genesisctl watch list --open\ngenesisctl watch list --patch PN384 --json")
@click.option("--state", type=click.Choice(["open", "closed", "merged", "unknown"]), help="Only rows in this state.")
@click.option("--patch", metavar="ID", help="Only rows that name this patch.")
@click.option("--open", "open_only", is_flag=True, help="Only rows with a decision that waits for a person.")
@click.pass_obj
def list_rows(session: Session, state: str | None, patch: str | None, *, open_only: bool) -> int:
    """The rows of the watchlist beside what upstream says.

    CHECKED is the age of its newest answer; ! behind it: the last question got none. ~ before a severity: nobody
    wrote it, it is derived. OPEN are the decisions that wait; `watch show` has all of it.
    """
    with session.client() as client:
        rows = client.watch_rows()
    found = [one for one in rows if _wanted(one, state, patch, open_only=open_only)]
    if session.json:
        session.answer_json({"rows": found})
    elif found:
        now = time.time()
        session.table(ROWS_HEAD, [row_row(one, now) for one in found])
    else:
        session.note("no such row" if rows else "nothing is watched")
    return exits.OK


def _wanted(one: dict[str, Any], state: str | None, patch: str | None, *, open_only: bool) -> bool:
    names = [name.casefold() for name in one["patches"]]
    fits = state in (None, one["state"]) and (patch is None or patch.casefold() in names)
    return fits and (bool(one["decisions"]) or not open_only)


@watch.command("show", cls=Verb, examples="genesisctl watch show vllm#42006\ngenesisctl watch show 42006 --json")
@click.argument("pr", metavar="PR", shell_complete=complete_pull_request)
@click.pass_obj
def show(session: Session, pr: str) -> int:
    """All there is to know about a pull request.

    Its state, what each pin has of it, what it breaks, the decisions and dossiers about it.
    PR is vllm#123, 123, owner/repo#123 or the address of its page.
    """
    with session.client() as client:
        told = client.watched(pull_request(pr))
    if session.json:
        session.answer_json(told)
    else:
        session.answer(describe_watched(told, time.time(), session.paint))
    return exits.OK


@watch.command("why", cls=Verb, examples="genesisctl watch why vllm#42006\ngenesisctl watch why 42006 --json")
@click.argument("pr", metavar="PR", shell_complete=complete_pull_request)
@click.pass_obj
def why(session: Session, pr: str) -> int:
    """Why a pull request stands as it does, in one paragraph."""
    with session.client() as client:
        told = client.watch_why(pull_request(pr))
    if session.json:
        session.answer_json(told)
    else:
        session.answer(paragraph(told["text"], session.width))
        session.note(f"all of it: genesisctl watch show {told['ref']}")
    return exits.OK


@watch.command("decisions", cls=Verb, examples="genesisctl watch decisions\ngenesisctl watch decisions --all --json")
@click.option("--all", "everything", is_flag=True, help="Also those that were answered or have passed.")
@click.pass_obj
def decisions(session: Session, *, everything: bool) -> int:
    """What waits for a person, the most urgent first.

    Exits with 0 whether there is anything or not.
    """
    with session.client() as client:
        found = client.decisions(open_only=not everything)
    if session.json:
        session.answer_json({"decisions": found})
    elif found:
        now = time.time()
        session.table(DECISIONS_HEAD, [decision_row(one, now) for one in found])
    else:
        session.note("nothing waits for a decision")
    return exits.OK


@watch.command("diff", cls=Verb, examples="genesisctl watch diff vllm#42006\ngenesisctl watch diff 42006 --patch PN384")
@click.argument("pr", metavar="PR", shell_complete=complete_pull_request)
@click.option("--patch", metavar="ID", help="Only this patch of ours.")
@click.option("--pin", metavar="ID", help="Only on this pin.")
@click.option("--anew", is_flag=True, help="Compare again, although there is a dossier.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True, max=86400), default=600.0, show_default=True, help="Seconds to wait.")  # fmt: skip
@click.pass_obj
def diff(session: Session, pr: str, patch: str | None, pin: str | None, timeout: float, *, anew: bool) -> int:
    """Our edits beside upstream's, and what the tests say.

    That is the dossier of a patch against a pull request on a pin; it is made where there is none yet.
    It must lie before a retirement is accepted.
    """
    with session.client() as client:
        found = client.dossiers(pull_request(pr), patch, pin, anew=anew, timeout=timeout)
    if session.json:
        session.answer_json({"dossiers": found})
    else:
        now = time.time()
        session.answer("\n".join(describe_dossier(one, now, session.paint) for one in found))
    return exits.OK


@watch.command("report", cls=Verb, examples="genesisctl watch report\ngenesisctl watch report 12 --html -o report.html")
@click.argument("sweep", metavar="[SWEEP]", required=False, type=click.IntRange(min=0))
@click.option("--html", is_flag=True, help="As a page instead of Markdown.")
@click.option("-o", "--output", metavar="FILE", type=click.Path(dir_okay=False), help="Write it there.")
@click.pass_obj
def report(session: Session, sweep: int | None, output: str | None, *, html: bool) -> int:
    """What a sweep found.

    The newest, unless the number of another is given: changes, decisions with their evidence, unknowns.
    """
    with session.client() as client:
        told = client.watch_report(sweep, "html" if html else "markdown")
    if output is not None:
        with open(output, "w", encoding="utf-8") as file:  # noqa: PTH123 - pathlib costs start-up time
            file.write(told["text"])
        session.note(f"the report of sweep {told['sweep']} is in {output}")
    elif session.json:
        session.answer_json(told)
    else:
        session.answer("\n".join(clean(line) for line in told["text"].splitlines()))
    return exits.OK
