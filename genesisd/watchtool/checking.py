"""``genesisctl watch check``: what a watchlist says against itself, the register, and what upstream said."""

from __future__ import annotations

import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.text import clean
from genesisd.errors import ConfigError
from genesisd.watch import markers, watchlist
from genesisd.watch.checks import check as findings_of
from genesisd.watch.findings import Finding, Level
from genesisd.watch.refs import Ref
from genesisd.watch.rows import Watchlist
from genesisd.watch.source import MAX_BYTES
from genesisd.watch.spec import WatchSpec
from genesisd.watchtool.answers import told_by
from genesisd.watchtool.tool import Tool

MISLEADING = exits.FOUND + 1
"""The exit status where the worst that was found is a warning."""
_LEVELS = tuple(Level)
_COLOURS: dict[str, str] = {Level.ERROR: "red", Level.WARNING: "yellow", Level.NOTICE: "dim"}


@click.command(
    "check",
    cls=Verb,
    examples="""
    genesisctl watch check upstream_watchlist.yaml
    genesisctl watch check upstream_watchlist.yaml --least error
    genesisctl watch check upstream_watchlist.yaml --against-upstream --json
    git show HEAD~1:upstream_watchlist.yaml | genesisctl watch check -
    """,
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path))
@click.option("--against-upstream", is_flag=True, help="Also against what upstream last told the running daemon.")
@click.option("--markers", "marked", metavar="FILE", type=click.Path(path_type=Path), help="Markers to look for. [default: those of the project]")  # fmt: skip
@click.option("--least", type=click.Choice([str(one) for one in _LEVELS]), default=str(Level.NOTICE), show_default=True, help="Show only what matters so much.")  # fmt: skip
@click.pass_obj
def check(tool: Tool, file: Path, marked: Path | None, least: str, *, against_upstream: bool) -> int:
    """Check a watchlist against itself and the patches of this version.

    Nothing is written, and nobody is asked but the daemon. Exits with 10 when a row does not do what it is there
    for or the file is no watchlist, with 11 when something misleads, with 0 when nothing does. FILE may be a pipe;
    '-' is standard input.
    """
    try:
        rows = _read(file)
    except ConfigError as problem:
        if "problems" not in problem.fields:  # it could not even be opened: that is no finding
            raise
        return _unreadable(tool, file, problem)
    found = _check(tool, rows, _marked(marked), against_upstream=against_upstream)
    shown = [one for one in found if _LEVELS.index(one.severity) <= _LEVELS.index(Level(least))]
    if tool.json:
        tool.answer_json(_told(rows, shown, found))
    else:
        _show(tool, rows, shown, found)
    return _status(found)


def _read(file: Path) -> Watchlist:
    """A pipe is waited for: who typed the command can end it."""
    if str(file) == "-":
        return watchlist.read(sys.stdin.buffer.read(MAX_BYTES + 1), "standard input")
    if not (file.is_fifo() or file.is_char_device()):
        return watchlist.load(file)
    with file.open("rb") as opened:
        return watchlist.read(opened.read(MAX_BYTES + 1), file)


def _check(tool: Tool, rows: Watchlist, marked: Collection[Ref] | None, *, against_upstream: bool) -> Sequence[Finding]:
    patches = tool.patches()
    known, ran = None, None
    if against_upstream:
        with tool.client() as client:
            known, ran = told_by(client, rows.refs())
    max_age = WatchSpec().max_age
    return findings_of(rows, patches.facts(), patches.find, known, time.time(), max_age, marked, ran)


def _marked(file: Path | None) -> Collection[Ref] | None:
    """None where nobody named a file and the project's is not there: then no row is blamed for lacking markers."""
    if file is None and not markers.builtin().is_file():
        return None
    return frozenset(markers.load(file).by_ref)


def _status(found: Sequence[Finding]) -> int:
    worst = min((_LEVELS.index(one.severity) for one in found), default=_LEVELS.index(Level.NOTICE))
    return {Level.ERROR: exits.FOUND, Level.WARNING: MISLEADING, Level.NOTICE: exits.OK}[_LEVELS[worst]]


# --- what is told -------------------------------------------------------------------------------------------------


def _told(rows: Watchlist, shown: Sequence[Finding], found: Sequence[Finding]) -> dict[str, Any]:
    counts = {str(level): sum(one.severity is level for one in found) for level in _LEVELS}
    told = {"file": rows.file, "watch": len(rows.watch), "sweep": len(rows.sweep), "ok": _status(found) == exits.OK}
    return told | {"faults": [], "counts": counts, "findings": [asdict(one) for one in shown]}


def _show(tool: Tool, rows: Watchlist, shown: Sequence[Finding], found: Sequence[Finding]) -> None:
    for one in shown:
        place = f"{rows.file}:{one.line}" if one.line else rows.file
        level = tool.paint(str(one.severity), _COLOURS[one.severity])
        tool.answer(f"{clean(place)}: {level}: {clean(one.text)} [{one.kind}]")
        if one.hint:
            tool.answer(f"  {clean(one.hint)}")
    counts = [
        f"{n} {level}{'' if n == 1 else 's'}" for level in _LEVELS if (n := sum(o.severity is level for o in found))
    ]
    size = f"{len(rows.watch)} watch and {len(rows.sweep)} sweep rows"
    tool.note(f"{rows.file}: {size}: {', '.join(counts) or 'nothing was found'}")


def _unreadable(tool: Tool, file: Path, problem: ConfigError) -> int:
    """A file that is no watchlist, with the place of each fault."""
    if tool.json:
        tool.answer_json({"file": str(file), "watch": 0, "sweep": 0, "ok": False, "faults": problem.fields["problems"], "counts": {}, "findings": []})  # fmt: skip
        return exits.FOUND
    for line in problem.message.splitlines():
        tool.answer(clean(line))
    if problem.hint:
        tool.note(f"hint: {problem.hint}")
    return exits.FOUND
