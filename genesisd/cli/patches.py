"""``genesisctl patches``: asks the daemon what runs, and hands all else to a program of its own, which starts slowly."""

from __future__ import annotations

from collections.abc import Mapping

import click

from genesisd.cli.attestation import render_attestation, status_of
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.handed import Handed
from genesisd.cli.names import complete_worker, suggest
from genesisd.cli.session import Session
from genesisd.errors import GenesisError

PROGRAM = "genesisd.patchtool"
TOLD: Mapping[str, str] = {
    "list": "The patches, those that are only known included.",
    "show": "All there is to know about one patch.",
    "explain": "Why a worker runs a patch, or does not.",
    "plan": "What a worker would run, and what not, with the reasons.",
    "check": "Whether the catalog applies to a tree.",
    "build": "Make a patched build ahead of a start.",
    "verify": "Whether builds still are what was built.",
    "gc": "Remove the builds that nobody needs.",
    "export": "One patch as a git patch, to offer upstream.",
    "docs": "Write docs/PATCHES.md and docs/RELEASE_POLICY.md.",
    "new": "Begin a patch: its file, its case, its id.",
    "proof": "Whether the catalog may be released.",
    "audit": "The tier of each patch, and what decides it.",
}
"""The commands of the program, with a line of help each."""


patches = LateGroup(
    "patches",
    help="Patches: what they are, where they apply, what a worker gets.",
    examples="""
    genesisctl patches list
    genesisctl patches explain P61c --worker main
    genesisctl patches attest main
    genesisctl patches check --pin cpu-0.32.0
    """,
)


@patches.command("attest", cls=Verb, examples="genesisctl patches attest main\ngenesisctl patches attest main --json")
@click.argument("worker", shell_complete=complete_worker)
@click.pass_obj
def attest(session: Session, worker: str) -> int:
    """What the processes of a worker run, by role and by patch.

    Asks the daemon. Exits with 10 when a process does not run what its build says, with 3 while that is not known.
    """
    with session.client() as client:
        try:
            told = client.patches(worker)
        except GenesisError as problem:
            suggest(client, problem, worker)
            raise
    if session.json:
        session.answer_json(told)
    else:
        session.answer(render_attestation(told, session.paint, session.width, colour=session.colour))
    return status_of(told)


for _name, _line in TOLD.items():
    patches.add_command(Handed(_name, help=_line, program=PROGRAM))
