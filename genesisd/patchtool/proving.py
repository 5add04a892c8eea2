"""``genesisctl patches proof``: the release gates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import Cell
from genesisd.patchtool import clauses, recorded
from genesisd.patchtool.cases import FOLDER
from genesisd.patchtool.clauses import Evidence
from genesisd.patchtool.gates import Mode, required
from genesisd.patchtool.tool import Tool

CHECKS: dict[str, Callable[[Evidence], Iterator[str]]] = {
    "catalog": clauses.catalog,
    "register": clauses.register,
    "cases": clauses.behaviour_cases,
    "anchors": clauses.anchors,
    "attestation": clauses.attestation,
    "docs": clauses.docs,
    "bench-evidence": recorded.bench_evidence,
    "plans": recorded.plans,
    "lane-baselines": recorded.lane_baselines,
}


@click.command(
    "proof",
    cls=Verb,
    examples="genesisctl patches proof\ngenesisctl patches proof --mode require-bench --json",
)
@click.option("--mode", type=click.Choice([str(mode) for mode in Mode]), default=str(Mode.STATIC), show_default=True, help="How strict.")  # fmt: skip
@click.option("--cache", metavar="DIR", envvar="GENESISD_CACHE", default="~/.cache/genesisd", show_default=True, help="Where the trees of releases are kept.")  # fmt: skip
@click.option("--fetch", is_flag=True, help="Fetch the trees that are not there.")
@click.pass_obj
def proof(tool: Tool, mode: str, cache: str, *, fetch: bool) -> int:
    """Whether the catalog of this clone may be released; exits with 10 and the list of what is missing.

    docs/RELEASE_POLICY.md says what each mode checks, and why.
    """
    tool.in_checkout(FOLDER)
    evidence = Evidence(tool, Path(cache).expanduser(), fetch)
    found = {clause.name: list(CHECKS[clause.name](evidence)) for clause in required(Mode(mode))}
    missing = sum(map(len, found.values()))
    if tool.json:
        tool.answer_json({"mode": mode, "ok": not missing, "missing": found})
    else:
        tool.table(("CHECK", "VERDICT"), [[Cell(name, "bold"), _verdict(lines)] for name, lines in found.items()])
        for name, lines in found.items():
            for line in lines:
                tool.answer(f"{name}: {line}")
        tool.note(f"{mode}: {'the gate is open' if not missing else f'{missing} things are missing'}")
    return exits.FOUND if missing else exits.OK


def _verdict(lines: list[str]) -> Cell:
    return Cell(f"{len(lines)} missing", "red") if lines else Cell("ok", "green")
