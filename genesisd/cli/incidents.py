"""``genesisctl incidents``, ``why`` and ``replay``: what went wrong, why, and whether it still does."""

from __future__ import annotations

import textwrap
import time

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.correctness_text import INCIDENTS_HEAD, describe_incident, describe_replay, incident_row
from genesisd.cli.listing import ListGroup
from genesisd.cli.names import complete_incident, complete_worker, suggesting
from genesisd.cli.session import Session
from genesisd.cli.text import clean

incidents = ListGroup(
    "incidents",
    help="What went wrong with workers, and what was done.",
    examples="genesisctl incidents --open\ngenesisctl incidents --worker main\ngenesisctl incidents show 7",
)


@incidents.command("list", cls=Verb, examples="genesisctl incidents list\ngenesisctl incidents list --open --json")
@click.option("--worker", metavar="NAME", shell_complete=complete_worker, help="Only incidents of this worker.")
@click.option("--open", "open_only", is_flag=True, help="Only those that go on.")
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Rows, newest first.")
@click.pass_obj
def list_incidents(session: Session, worker: str | None, limit: int, *, open_only: bool) -> int:
    """The newest incidents; exits with 0 whether there are any or not."""
    with session.client() as client, suggesting(client, worker):
        found = client.incidents(worker, limit, open_only=open_only)
    if session.json:
        session.answer_json({"incidents": found})
    elif found:
        now = time.time()
        session.table(INCIDENTS_HEAD, [incident_row(one, now) for one in found])
    else:
        session.note("no incidents")
    return exits.OK


@incidents.command("show", cls=Verb, examples="genesisctl incidents show 7\ngenesisctl incidents show 7 --json")
@click.argument("incident", metavar="ID", type=click.IntRange(min=0), shell_complete=complete_incident)
@click.pass_obj
def show(session: Session, incident: int) -> int:
    """One incident: what was found, what was done, where the evidence lies."""
    with session.client() as client:
        found = client.incident(incident)
    if session.json:
        session.answer_json({"incident": found})
    else:
        session.answer(describe_incident(found, time.time(), session.paint))
    return exits.OK


@click.command(cls=Verb, examples="genesisctl why main\ngenesisctl why main --json")
@click.argument("worker", shell_complete=complete_worker)
@click.pass_obj
def why(session: Session, worker: str) -> int:
    """Why a worker is as it is, in one paragraph.

    It says what happened, by which evidence, what was done, and what you can do. Exits with 0 however the worker
    is: `status` tells that.
    """
    with session.client() as client, suggesting(client, worker):
        told = client.why(worker)
    if session.json:
        session.answer_json(told)
    else:
        session.answer(paragraph(told["text"], session.width))
        if told["incident"] is not None:
            session.note(f"all of it: genesisctl incidents show {told['incident']}")
    return exits.OK


def paragraph(text: str, width: int | None) -> str:
    """Broken between words to fit a terminal; in a pipe it stays one line."""
    plain = clean(" ".join(text.split()))
    return plain if width is None else textwrap.fill(plain, max(20, width), break_on_hyphens=False)


@click.command(cls=Verb, examples="genesisctl replay 7 --worker main\ngenesisctl replay 7 --worker spare --json")
@click.argument("incident", metavar="INCIDENT", type=click.IntRange(min=0), shell_complete=complete_incident)
@click.option("--worker", metavar="NAME", required=True, shell_complete=complete_worker, help="Whom to ask.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True, max=86400), default=900.0, show_default=True, help="Seconds to wait.")  # fmt: skip
@click.pass_obj
def replay(session: Session, incident: int, worker: str, timeout: float) -> int:
    """Ask a worker again what was asked in an incident.

    Exits with 10 when an answer is wrong, with 3 when one could not be asked.
    """
    with session.client() as client, suggesting(client, worker):
        found = client.replay(incident, worker, timeout)
    if session.json:
        session.answer_json({"replays": found})
    else:
        for one in found:
            session.answer(describe_replay(one, session.paint))
        if not found:
            session.note("nothing was recorded in this incident that could be asked again")
    said = {one["now"] for one in found}
    return exits.FOUND if "failure" in said else exits.UNHEALTHY if "unknown" in said else exits.OK
