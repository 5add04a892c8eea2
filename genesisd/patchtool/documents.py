"""``genesisctl patches docs``: the generated pages, written or compared."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from pathlib import Path

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.patchtool.cases import cases
from genesisd.patchtool.pages import patches_page, policy_page
from genesisd.patchtool.tool import Tool


@click.command("docs", cls=Verb, examples="genesisctl patches docs\ngenesisctl patches docs --check")
@click.option(
    "--check", "compare", is_flag=True, help="Write nothing; exit with 10 and the difference when they are stale."
)
@click.pass_obj
def docs(tool: Tool, *, compare: bool) -> int:
    """Write docs/PATCHES.md and docs/RELEASE_POLICY.md of this clone."""
    tool.in_checkout("docs")
    pages = written(tool)
    stale = {name: text for name, text in pages.items() if _read(tool.checkout / name) != text}
    if not compare:
        for name, text in stale.items():
            (tool.checkout / name).write_text(text, encoding="utf-8")
    if tool.json:
        tool.answer_json({"pages": sorted(pages), "stale" if compare else "written": sorted(stale)})
    elif compare:
        tool.answer(differences(tool.checkout, stale)) if stale else tool.note("the pages are what they should be")
    else:
        tool.note(f"written: {', '.join(sorted(stale))}" if stale else "nothing changed")
    return exits.FOUND if compare and stale else exits.OK


def written(tool: Tool) -> dict[str, str]:
    """The pages as they should be, by path in the clone."""
    return {
        "docs/PATCHES.md": patches_page(tool.by_id, tool.register.records, cases(tool.checkout)),
        "docs/RELEASE_POLICY.md": policy_page(),
    }


def differences(checkout: Path, stale: Mapping[str, str]) -> str:
    """From what is there to what should be, with what to do."""
    parts: list[str] = []
    for name, text in sorted(stale.items()):
        there = (_read(checkout / name) or "").splitlines(keepends=True)
        parts += difflib.unified_diff(there, text.splitlines(keepends=True), name, f"{name} as it should be", n=1)
    return "".join(parts) + "write them anew: genesisctl patches docs\n"


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
