"""``genesisctl probes``: how each stands, asking one now, what they said, and recording what is right."""

from __future__ import annotations

from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.correctness_text import PROBES_HEAD, RUNS_HEAD, describe_run, probe_row, run_row
from genesisd.cli.listing import ListGroup
from genesisd.cli.names import complete_kind, complete_worker, suggesting
from genesisd.cli.session import Session, usage
from genesisd.cli.text import clean

_STATUS = {"failure": exits.FOUND, "unknown": exits.UNHEALTHY}

probes = ListGroup(
    "probes",
    help="What is asked of workers, and how they stand.",
    examples="""
    genesisctl probes
    genesisctl probes main
    genesisctl probes run main golden
    genesisctl probes history main tool-calls --limit 5
    genesisctl probes record-golden main --dry-run
    """,
)


@probes.command("list", cls=Verb, examples="genesisctl probes list\ngenesisctl probes list main --json")
@click.argument("worker", required=False, shell_complete=complete_worker)
@click.pass_obj
def list_probes(session: Session, worker: str | None) -> int:
    """Every probe of a worker, or of all; exits with 0 however they stand."""
    with session.client() as client, suggesting(client, worker):
        found = client.probes(worker)
    if session.json:
        session.answer_json({"probes": found})
    elif found:
        session.table(PROBES_HEAD, [probe_row(one) for one in found])
    else:
        session.note("no probes: no worker lives")
    return exits.OK


@probes.command("run", cls=Verb, examples="genesisctl probes run main golden\ngenesisctl probes run main needle --json")
@click.argument("worker", shell_complete=complete_worker)
@click.argument("kind", shell_complete=complete_kind)
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True, max=86400), default=900.0, show_default=True, help="Seconds to wait.")  # fmt: skip
@click.pass_obj
def run(session: Session, worker: str, kind: str, timeout: float) -> int:
    """Ask a correctness probe now. Its answer counts as any other.

    Exits with 10 for a wrong answer, with 3 when it could not be asked, with 0 when the worker lacks what it
    asks about.
    """
    with session.client() as client, suggesting(client, worker):
        told = client.run_probe(worker, kind, timeout)
    if session.json:
        session.answer_json({"run": told})
    else:
        session.answer(describe_run(told, session.paint))
    return _STATUS.get(told["verdict"], exits.OK)


@probes.command(
    "history", cls=Verb, examples="genesisctl probes history main\ngenesisctl probes history main golden --limit 50"
)
@click.argument("worker", shell_complete=complete_worker)
@click.argument("kind", required=False, shell_complete=complete_kind)
@click.option("--limit", type=click.IntRange(1, 1000), default=20, show_default=True, help="Rows, newest first.")
@click.pass_obj
def history(session: Session, worker: str, kind: str | None, limit: int) -> int:
    """What the correctness probes of a worker said."""
    with session.client() as client, suggesting(client, worker):
        found = client.probe_history(worker, kind, limit)
    if session.json:
        session.answer_json({"runs": found})
    elif found:
        session.table(RUNS_HEAD, [run_row(one) for one in found])
    else:
        session.note("nothing was asked yet")
    return exits.OK


@probes.command(
    "record-golden",
    cls=Verb,
    examples="""
    genesisctl probes record-golden main --dry-run
    genesisctl probes record-golden main
    genesisctl probes record-golden main --explain weather=P61c
    """,
)
@click.argument("worker", shell_complete=complete_worker)
@click.option("--explain", multiple=True, metavar="CASE=PATCH", help="The patch that makes the answer to a case differ from the plain pin's. May be repeated.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Compare, and record nothing.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True, max=86400), default=7200.0, show_default=True, help="Seconds to wait: the plain pin may have to be started beside it.")  # fmt: skip
@click.pass_obj
def record_golden(session: Session, worker: str, explain: tuple[str, ...], timeout: float, *, dry_run: bool) -> int:
    """Record what a worker answers now as right, for its build and model.

    It must be attested, every other probe of it good, and each answer that its pin gives otherwise without patches
    explained by one of them. Exits with 5 where that does not hold.
    """
    said = dict(explained(one) for one in explain)
    with session.client() as client, suggesting(client, worker):
        told = client.record_golden(worker, said, dry_run=dry_run, timeout=timeout)
    if session.json:
        session.answer_json(told)
    else:
        session.answer(clean(golden_line(told, dry_run=dry_run)))
    return exits.OK


def explained(text: str) -> tuple[str, str]:
    """Case and patch of ``CASE=PATCH``."""
    case, equals, patch = text.rpartition("=")
    if not (case and equals and patch):
        raise usage(f"cannot read --explain {text!r}", "write CASE=PATCH, such as weather=P61c")
    return case, patch


def golden_line(told: dict[str, Any], *, dry_run: bool) -> str:
    """What was recorded, in a sentence."""
    build = told["build"] or f"the plain pin {told['pin']}"
    what = f"{told['cases']} case{'' if told['cases'] == 1 else 's'} of {told['model']} on {build}"
    differs = ", ".join(f"{case} ({patch})" for case, patch in told["differs"].items())
    rest = f"; otherwise than the plain pin: {differs}" if differs else ""
    return f"would record {what}{rest}" if dry_run else f"recorded {what} in {told['path']}{rest}"
