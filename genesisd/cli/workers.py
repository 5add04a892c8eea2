"""``genesisctl workers ...``: what there is, and orders."""

from __future__ import annotations

import click

from genesisd.cli import exits, orders
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.names import complete_worker, suggest
from genesisd.cli.session import Session
from genesisd.cli.show import describe
from genesisd.cli.status import HEAD, worker_row
from genesisd.errors import GenesisError

workers = LateGroup(
    "workers",
    help="List workers and give them orders.",
    examples="genesisctl workers list\ngenesisctl workers show main\ngenesisctl workers restart main --wait",
)


@workers.command("list", cls=Verb, examples="genesisctl workers list --json")
@click.pass_obj
def list_workers(session: Session) -> int:
    """All workers; unlike status, exits with 0 whatever their phase."""
    with session.client() as client:
        found = client.workers()
    if session.json:
        session.answer_json({"workers": found})
    elif found:
        session.table(HEAD, [worker_row(worker) for worker in found])
    else:
        session.note("no workers are declared")
    return exits.OK


@workers.command("show", cls=Verb, examples="genesisctl workers show main")
@click.argument("name", shell_complete=complete_worker)
@click.pass_obj
def show(session: Session, name: str) -> int:
    """One worker in detail: probes, restarts, how it last ended."""
    with session.client() as client:
        try:
            worker = client.worker(name)
        except GenesisError as problem:
            suggest(client, problem, name)
            raise
    if session.json:
        session.answer_json({"worker": worker})
    else:
        session.answer(describe(worker, paint=session.paint))
    return exits.OK


for verb in orders.VERBS:
    workers.add_command(orders.command(verb))
