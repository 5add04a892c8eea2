"""``genesisctl patches explain``: one paragraph why a worker runs a patch, or does not."""

from __future__ import annotations

import textwrap
from dataclasses import asdict
from typing import Any

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.patches.model import Patch
from genesisd.patchtool.paragraph import THERE, Question, paragraph
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import configuration
from genesisd.patchtool.workers import Asked, ask, planned


@click.command(
    "explain",
    cls=Verb,
    examples="""
    genesisctl patches explain P61c --worker main
    genesisctl patches explain P61c --worker main --config genesisd.yaml --json
    """,
)
@click.argument("patch_id", metavar="ID")
@click.option("--worker", "-w", required=True, metavar="NAME", help="The worker.")
@click.option("--config", metavar="FILE", help="The configuration. [default: the running daemon's]")
@click.pass_obj
def explain(tool: Tool, patch_id: str, worker: str, config: str | None) -> int:
    """Why a worker runs a patch, or does not: switch and layer, policy, gate, facts, and the tree of its pin.

    Looks at the configuration as it is now; what runs already is told by 'patches attest'.
    """
    name = tool.id_of(patch_id)
    asked = ask(configuration(tool, config), worker)
    told = known_only(name, asked) if name not in tool.by_id else explained(tool, tool.by_id[name], asked)
    if tool.json:
        tool.answer_json(told)
    else:
        width = min(tool.width or 100, 100)
        tool.answer(textwrap.fill(told["text"], width, break_long_words=False, break_on_hyphens=False))
    return exits.OK


def known_only(name: str, asked: Asked) -> dict[str, Any]:
    """The answer about an id that the catalog lacks."""
    text = f"{name} is not applied for worker {asked.name}: it is known, and this project does not implement it."
    return {"patch": name, "worker": asked.name, "applied": False, "verdict": "not_implemented", "text": text}


def explained(tool: Tool, patch: Patch, asked: Asked) -> dict[str, Any]:
    """The answer, with the paragraph as ``text``."""
    question = Question(patch, tool.patches, asked, planned(asked, tool.patches))
    standing = question.standing
    return {
        "patch": patch.id,
        "worker": asked.name,
        "applied": standing.verdict in THERE,
        "verdict": standing.verdict,
        "reason": standing.text,
        "policy": asked.spec.patches.policy and str(asked.spec.patches.policy),
        "layers": [asdict(one) for one in question.layers],
        "facts": question.facts,
        "faults": list(question.found.selection.faults),
        "text": paragraph(question),
    }
