"""``genesisctl quarantine``: patches that are left out and cards that are not used, and letting them be used again."""

from __future__ import annotations

from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.correctness_text import QUARANTINE_HEAD, quarantine_row
from genesisd.cli.listing import ListGroup
from genesisd.cli.names import complete_quarantined, complete_worker
from genesisd.cli.session import Session

quarantine = ListGroup(
    "quarantine",
    help="Patches that are left out, and cards that are not used.",
    examples="""
    genesisctl quarantine
    genesisctl quarantine release patch P61c --worker main
    genesisctl quarantine release card 1
    """,
)


@quarantine.command("list", cls=Verb, examples="genesisctl quarantine list\ngenesisctl quarantine list --json")
@click.pass_obj
def list_quarantined(session: Session) -> int:
    """What is quarantined, and why."""
    with session.client() as client:
        found = client.quarantine()
    _show(session, found)
    return exits.OK


release = LateGroup(
    "release",
    help="Let a patch or a card be used again. Running workers are not touched: the next start counts.",
    examples="genesisctl quarantine release patch P61c --worker main\ngenesisctl quarantine release card 1",
)
quarantine.add_command(release)


@release.command("patch", cls=Verb, examples="genesisctl quarantine release patch P61c --worker main")
@click.argument("patch", metavar="ID", shell_complete=complete_quarantined("patch"))
@click.option("--worker", metavar="NAME", required=True, shell_complete=complete_worker, help="Whose.")
@click.pass_obj
def release_patch(session: Session, patch: str, worker: str) -> int:
    """Start a worker with a patch again, from its next start on."""
    return _release(session, "patch", patch, worker)


@release.command("card", cls=Verb, examples="genesisctl quarantine release card 1")
@click.argument("card", metavar="N", shell_complete=complete_quarantined("card"))
@click.pass_obj
def release_card(session: Session, card: str) -> int:
    """Let workers be started on a card again."""
    return _release(session, "card", card, None)


def _release(session: Session, what: str, name: str, worker: str | None) -> int:
    with session.client() as client:
        left = client.release(what, name, worker)
    if not session.json:
        session.note(f"{what} {name} is released")
    _show(session, left)
    return exits.OK


def _show(session: Session, found: list[dict[str, Any]]) -> None:
    if session.json:
        session.answer_json({"quarantined": found})
    elif found:
        session.table(QUARANTINE_HEAD, [quarantine_row(one) for one in found])
    else:
        session.note("nothing is quarantined")
