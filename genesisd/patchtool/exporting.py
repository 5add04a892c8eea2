"""``genesisctl patches export``: one patch as upstream takes patches."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

import genesisd
from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import usage
from genesisd.errors import ConflictError
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import plan_all
from genesisd.patches.verdicts import sentence, verdict
from genesisd.patchtool.diff import git_diff
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree, Where, chosen, where_options

AUTHOR = "genesisd <genesisd@localhost>"
_AUTHOR = re.compile(r"[^<>\n\r\0]*[^<>\s\0] <[^<>@\s\0]+@[^<>@\s\0]+>")


@click.command(
    "export",
    cls=Verb,
    examples="""
    genesisctl patches export P61c --pin cpu-0.32.0 > p61c.patch
    genesisctl patches export P61c --tree ~/vllm --author "Ann <ann@example.org>" -o p61c.patch
    """,
)
@click.argument("patch_id", metavar="ID")
@where_options
@click.option("--author", metavar="'NAME <MAIL>'", default=AUTHOR, show_default=True, help="Whom git shall name.")
@click.option("-o", "--output", metavar="FILE", help="Write it there.")
@click.pass_obj
def export(tool: Tool, patch_id: str, author: str, output: str | None, where: Where) -> int:
    """One patch as a git patch that 'git apply' and 'git am' take on the pristine tree.

    Carries the patches on whose text it stands, if there are any. Writes nothing into the tree.
    """
    patch = tool.patch(patch_id)
    if _AUTHOR.fullmatch(author) is None:
        raise usage(f"git takes no author {author!r}", 'write it as "Ann <ann@example.org>", on one line')
    written = letter(patch, *changes(tool, patch, chosen(tool, where)), author)
    if output is not None:
        Path(output).write_bytes(written.encode())
        tool.note(f"written to {output}: git am {output}")
    if tool.json:
        tool.answer_json({"patch": patch.id, "file": output, "text": written})
    elif output is None:
        tool.answer(written)
    return exits.OK


def changes(tool: Tool, patch: Patch, tree: Tree) -> tuple[dict[str, str], Mapping[str, str], list[str]]:
    """Texts before and after, and the ids of the bases that come along.

    Raises:
        ConflictError: the patch does not apply there.
    """
    stack = [one for one in tool.needed(patch) if one is patch or one.id in _bases(tool, patch)]
    needed = tool.needed(patch)
    before = read_texts(tree.root, needed)
    outcome = plan_all(before, needed).outcomes[patch.id]
    if not isinstance(outcome, Applied):
        told = f"{patch.id} does not apply to {tree.name} ({tree.version}): {verdict(outcome)}"
        reason = sentence(outcome)
        raise ConflictError(told + (f": {reason}" if reason else ""), patch=patch.id, verdict=str(verdict(outcome)))
    # What is only required has its own edits elsewhere, and is upstream's to take by itself.
    plan = plan_all(before, [replace(one, requires=()) for one in stack])
    return before, plan.texts, [one.id for one in stack if one is not patch]


def _bases(tool: Tool, patch: Patch) -> set[str]:
    found = list(patch.bases())
    for name in found:
        found += [one for one in tool.by_id[name].bases() if one not in found]
    return set(found)


def letter(
    patch: Patch, before: Mapping[str, str], after: Mapping[str, str], bases: Sequence[str], author: str = AUTHOR
) -> str:
    """The patch as git format-patch writes one. No date: the same patch gives the same letter."""
    head = ["From " + "0" * 40 + " Mon Sep 17 00:00:00 2001", f"From: {author}", f"Subject: [PATCH] {patch.title}", ""]
    return "\n".join([*head, *_body(patch, bases), "---", ""]) + git_diff(before, after) + _signature()


def _body(patch: Patch, bases: Sequence[str]) -> list[str]:
    study = patch.study
    said = [study.ours, f"Upstream: {study.upstream}", f"Tests: {study.tests}"] if study else []
    said += [f"It carries {', '.join(bases)}, on whose text it stands."] if bases else []
    trailers = [f"Genesis-patch: {patch.id}"]
    trailers += [f"Related: vllm-project/vllm#{number}" for number in patch.upstream]
    trailers += [f"Based-on-work-of: {patch.credit}"] if patch.credit else []
    paragraphs = [line for text in said for line in [*textwrap.wrap(text, 72), ""]]
    return [*paragraphs, *trailers]


def _signature() -> str:
    return f"-- \ngenesisd {genesisd.__version__}\n"
