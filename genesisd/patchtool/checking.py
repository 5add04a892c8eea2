"""``genesisctl patches check``: does the catalog still fit a tree?"""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import Cell
from genesisd.patches.model import Patch
from genesisd.patches.reading import read_texts
from genesisd.patches.resolve import Gate
from genesisd.patches.verdicts import Verdict
from genesisd.patchtool.cases import verdicts_on
from genesisd.patchtool.preflight import Check, applied, clashes, preflight
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree, Where, chosen, where_options

COLOURS: dict[str, str] = {Verdict.APPLIED: "green", Verdict.SUPERSEDED: "blue", Gate.VERSION: "dim"}


@click.command(
    "check",
    cls=Verb,
    examples="""
    genesisctl patches check --pin cpu-0.32.0
    genesisctl patches check ~/vllm-0.33.0
    genesisctl patches check ./site-packages --version 0.34.0rc1 --json
    """,
)
@click.argument("folder", metavar="[TREE]", required=False)
@where_options
@click.pass_obj
def check(tool: Tool, folder: str | None, where: Where) -> int:
    """Plan every patch of the catalog on a tree, whether it is switched on or not.

    TREE is a folder that holds the package vllm. Exits with 10 when a patch for this version does not apply,
    or not as its case tells. Nothing is written.
    """
    chosen_tree = chosen(tool, replace(where, tree=folder or where.tree))
    checks, apart = look(tool, chosen_tree)
    wrong = [one for one in checks if not one.sound]
    if tool.json:
        told = {"tree": str(chosen_tree.root), "version": str(chosen_tree.version), "ok": not wrong and not apart}
        tool.answer_json(told | {"patches": [asdict(one) for one in checks], "clashes": apart})
    else:
        _show(tool, chosen_tree, checks, apart)
    return exits.FOUND if wrong or apart else exits.OK


def look(tool: Tool, tree: Tree) -> tuple[tuple[Check, ...], dict[str, str]]:
    """Each patch alone, and those that apply alone and not together."""
    found = read_texts(tree.root, tool.patches)
    # Cases tell of pristine releases: not of their candidates, nor of what was built from them.
    is_build = "genesis" in (tree.version.local or "")
    told = {} if is_build else verdicts_on(tool.checkout, tree.version.public)
    checks = preflight(tool.patches, tool.needed, found, tree.version, told)
    return checks, clashes(together(tool, checks), found)


def together(tool: Tool, checks: tuple[Check, ...]) -> list[Patch]:
    """Those that are applied, less the ones that are declared not to go together."""
    kept: list[Patch] = []
    for name in sorted(applied(checks)):
        patch = tool.by_id[name]
        if not any(patch.id in other.conflicts or other.id in patch.conflicts for other in kept):
            kept.append(patch)
    return kept


def _show(tool: Tool, tree: Tree, checks: tuple[Check, ...], apart: dict[str, str]) -> None:
    rows = [
        [Cell(one.patch, "bold"), Cell(one.verdict, COLOURS.get(one.verdict) if one.sound else "red"), Cell(_why(one))]
        for one in checks
    ]
    tool.table(("ID", "VERDICT", "FOUND"), rows)
    for name, detail in apart.items():
        tool.answer(f"{name} does not go with others: {detail}")
    wrong = [one.patch for one in checks if not one.sound]
    counts = {word: sum(one.verdict == word for one in checks) for word in dict.fromkeys(c.verdict for c in checks)}
    summary = ", ".join(f"{count} {word}" for word, count in counts.items())
    tool.note(f"{Path(tree.root)} ({tree.version}): {summary}" + (f"; wrong: {', '.join(wrong)}" if wrong else ""))


def _why(one: Check) -> str:
    if one.expected is not None and one.expected != one.verdict:
        return f"its case tells {one.expected}" + (f"; {one.reason}" if one.reason else "")
    return one.reason
