"""``genesisctl patches list``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import usage
from genesisd.cli.text import Cell
from genesisd.patchtool.checking import COLOURS, look
from genesisd.patchtool.entries import KNOWN, Entry, entries
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Where, folder, of_pin, pin_of

HEAD = ("ID", "LIFECYCLE", "IMPLEMENTED", "TIER", "FLAG", "TITLE")


@click.command(
    "list",
    cls=Verb,
    examples="""
    genesisctl patches list
    genesisctl patches list --family tool_parsing --pin cpu-0.32.0 --pin gpu-0.24.0
    genesisctl patches list --known --lifecycle retired --json
    """,
)
@click.option("--family", metavar="NAME", help="Only this family.")
@click.option("--lifecycle", metavar="WORD", help="Only this lifecycle.")
@click.option("--implemented", "which", flag_value="implemented", default=True, help="What the catalog has. [default]")
@click.option("--known", "which", flag_value="known", help="What the register alone knows.")
@click.option("--all", "which", flag_value="all", help="Both.")
@click.option("--pin", "pins", metavar="ID", multiple=True, help="A column with the verdict on this pin's tree.")
@click.option("--tree", "trees", metavar="DIR", multiple=True, help="A column with the verdict on this tree.")
@click.option(
    "--config", metavar="FILE", help="Configuration that names the pins file. [default: the running daemon's]"
)
@click.pass_obj
def list_patches(
    tool: Tool,
    family: str | None,
    lifecycle: str | None,
    which: str,
    pins: tuple[str, ...],
    trees: tuple[str, ...],
    config: str | None,
) -> int:
    """The patches of the catalog; with --known or --all the ids that were only ever named."""
    everything = entries(tool.by_id, tool.register.records)
    _known_word("family", family, {one.family for one in everything})
    _known_word("lifecycle", lifecycle, {one.lifecycle for one in everything})
    shown = [
        one
        for one in everything
        if which in {"all", "implemented" if one.implemented else "known"}
        and family in {None, one.family}
        and lifecycle in {None, one.lifecycle}
    ]
    columns = _columns(tool, pins, trees, config)
    if tool.json:
        tool.answer_json({"patches": [_facts(tool, one, columns) for one in shown]})
    elif shown:
        tool.table((*HEAD[:-1], *columns, HEAD[-1]), [_row(tool, one, list(columns.values())) for one in shown])
    else:
        tool.note("no such patches")
    return exits.OK


def _known_word(option: str, word: str | None, words: set[str]) -> None:
    """A misspelt word would show an empty list, and read as an answer."""
    if word is not None and word not in words:
        raise usage(f"--{option} {word}: no patch has it", f"one of {', '.join(sorted(filter(None, words)))}")


def _columns(tool: Tool, pins: Sequence[str], trees: Sequence[str], config: str | None) -> dict[str, dict[str, str]]:
    """The verdicts by patch, a column a tree."""
    asked = [folder(Path(one)) for one in trees]
    asked += [of_pin(*pin_of(tool, Where(pin=one, config=config))) for one in pins]
    return {tree.name: {check.patch: check.verdict for check in look(tool, tree)[0]} for tree in asked}


def _row(tool: Tool, one: Entry, columns: Sequence[dict[str, str]]) -> list[Cell]:
    verdicts = [Cell(column.get(one.id, "-"), COLOURS.get(column.get(one.id, ""))) for column in columns]
    done = Cell(one.implementation, "dim" if one.implementation == KNOWN else "green")
    tier = Cell(tool.tier(one.patch) if one.patch else "-")
    return [Cell(one.id, "bold"), Cell(one.lifecycle), done, tier, Cell(one.flag), *verdicts, Cell(one.title)]


def _facts(tool: Tool, one: Entry, columns: dict[str, dict[str, str]]) -> dict[str, Any]:
    words = ("id", "title", "family", "lifecycle", "implementation", "flag")
    tier = tool.tier(one.patch) if one.patch else None
    told: dict[str, Any] = {word: getattr(one, word) or None for word in words} | {"tier": tier}
    return told | ({"verdicts": {name: column.get(one.id) for name, column in columns.items()}} if columns else {})
