"""``genesisctl status``: one line a worker, and an exit status that says whether all is well."""

from __future__ import annotations

from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import Session
from genesisd.cli.text import Cell, duration, phase_cell

HEAD = ("NAME", "PHASE", "FOR", "RESTARTS", "URL", "REASON")


@click.command(cls=Verb, examples="genesisctl status\ngenesisctl status --json")
@click.pass_obj
def status(session: Session) -> int:
    """How the daemon and its workers are.

    Exits with 3 when a worker that should be up is not ready.
    """
    with session.client() as client:
        told = client.status()
    if session.json:
        session.answer_json(told)
    else:
        _show(session, told)
    return exits.OK if told["healthy"] else exits.UNHEALTHY


def _show(session: Session, told: dict[str, Any]) -> None:
    for line in daemon_notes(told["daemon"]):
        session.note(line)
    if told["workers"]:
        session.table(HEAD, [worker_row(worker) for worker in told["workers"]])
    else:
        session.note(f"no workers: declare some in {told['daemon']['config_path']}")


def daemon_notes(daemon: dict[str, Any]) -> list[str]:
    """A line about the daemon, and one for each thing that is wrong with it."""
    notes = [f"genesisd {daemon['version']}, pid {daemon['pid']}, up {duration(daemon['uptime_seconds'])}"]
    if not daemon["config_ok"]:
        notes.append(f"the last reload was refused: genesisctl config check {daemon['config_path']}")
    if not daemon["store_ok"]:
        notes.append("the store cannot be written: is its disk full? journalctl -u genesisd has the error")
    return notes


def worker_row(worker: dict[str, Any]) -> list[Cell]:
    """One worker as a row under ``HEAD``."""
    restarts = worker["restarts"]
    spent = restarts["in_window"] >= restarts["budget"] > 0
    return [
        Cell(worker["name"], "bold"),
        phase_cell(worker["phase"], wanted=worker["wanted"]),
        Cell(duration(worker["for_seconds"])),
        Cell(f"{restarts['in_window']}/{restarts['budget']}", "red" if spent else None),
        Cell(worker["url"] or "-"),
        Cell(worker["reason"]["text"]),
    ]
