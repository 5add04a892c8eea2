"""``genesisctl patches audit``."""

from __future__ import annotations

import click

from genesisd.cli import exits
from genesisd.cli.commands import LateGroup, Verb
from genesisd.cli.text import Cell
from genesisd.patches.model import Patch
from genesisd.patches.tier import Clause, tier_of
from genesisd.patchtool.tool import Tool

_FAILS = {
    Clause.NOT_PUBLIC: "it is on the public repository",
    Clause.NO_CREDIT: "title or credit names an author outside of the project",
    Clause.NO_PULL: "title or credit names a pull request",
    Clause.NO_UPSTREAM: "it names an upstream change",
}
"""What is so where a clause does not hold."""

audit = LateGroup(
    "audit",
    help="Look at the catalog as its licence and its origins see it.",
    examples="genesisctl patches audit tier",
)


@audit.command("tier", cls=Verb, examples="genesisctl patches audit tier --json")
@click.pass_obj
def tier(tool: Tool) -> int:
    """The tier of each patch, with the clauses that fail.

    A patch is of the engine tier only when all four hold, so one that fails is enough; the first one decides.
    """
    found = {patch: failing(patch, tool) for patch in tool.patches}
    if tool.json:
        rows = {p.id: {"tier": tool.tier(p), "fails": [c.name.lower() for c in failed]} for p, failed in found.items()}
        tool.answer_json({"patches": rows, "clauses": {clause.name.lower(): str(clause) for clause in Clause}})
    else:
        lines = [[Cell(p.id, "bold"), Cell(tool.tier(p)), *_cells(failed)] for p, failed in found.items()]
        tool.table(("ID", "TIER", "FAILS", "AND"), lines)
    return exits.OK


def failing(patch: Patch, tool: Tool) -> list[Clause]:
    """The clauses that fail, the one that decides first."""
    first = tier_of(patch, tool.public).failed
    # Public or not hides what else there is; the catalog comes with the project, so that is always the first.
    other = tier_of(patch, ()).failed
    return list(dict.fromkeys(clause for clause in (first, other) if clause is not None))


def _cells(failed: list[Clause]) -> list[Cell]:
    first, *more = [_FAILS[clause] for clause in failed] or ["-"]
    return [Cell(first), Cell("; ".join(more))]
