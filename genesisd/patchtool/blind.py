"""What the catalog changes on a tree of which no running process can be asked, told by the plugin that would ask."""

from __future__ import annotations

import tempfile
from pathlib import Path

from genesisd.attest import plugin
from genesisd.patches.edits import MODULE, AnchorEdit
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied
from genesisd.patches.reading import read_texts
from genesisd.patches.stack import plan_all
from genesisd.patchtool.checking import together
from genesisd.patchtool.preflight import Check
from genesisd.patchtool.tool import Tool
from genesisd.patchtool.trees import Tree


def blind_spots(tool: Tool, tree: Tree, checks: tuple[Check, ...]) -> dict[tuple[str, str], str]:
    """By patch and name (empty: the module), why it cannot be attested; all that apply together are looked at."""
    chosen = together(tool, checks)
    plan = plan_all(read_texts(tree.root, chosen), chosen)
    done = [patch for patch in chosen if isinstance(plan.outcomes[patch.id], Applied)]
    with tempfile.TemporaryDirectory(prefix="genesis-") as folder:
        for name, text in plan.texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        job = {"pristine": str(tree.root), "build": folder, "files": list(plan.texts), "scopes": scopes(done)}
        told = plugin.prepare(job)["unattestable"]
    # What is covered is attested by the code of its module, which says how the value came to be.
    return {(patch, one["name"]): one["why"] for one in told if not one["covered"] for patch in one["patches"]}


def scopes(patches: list[Patch]) -> dict[str, list[list[str]]]:
    """Where each patch changes something: file and qualified name."""
    return {
        patch.id: [[edit.path, edit.scope if isinstance(edit, AnchorEdit) else MODULE] for edit in patch.edits]
        for patch in patches
    }
