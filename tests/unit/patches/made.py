"""Patches and texts for tests, with as few words as can be."""

from __future__ import annotations

from typing import Any

from genesisd.patches.edits import AnchorEdit, Placement, Variant
from genesisd.patches.model import Patch

FILE = "vllm/core.py"


def patch(*edits: Any, id: str = "P1", **more: Any) -> Patch:  # noqa: A002
    return Patch(**{"id": id, "title": f"title of {id}", "family": "scheduler", "edits": edits} | more)


def edit(anchor: str, text: str, scope: str = "", *, id: str = "e", path: str = FILE, **more: Any) -> AnchorEdit:  # noqa: A002
    return AnchorEdit(id, path, scope, (Variant(anchor, text),), **more)


def after(anchor: str, text: str, scope: str = "", **more: Any) -> AnchorEdit:
    return edit(anchor, text, scope, placement=Placement.AFTER, **more)


def before(anchor: str, text: str, scope: str = "", **more: Any) -> AnchorEdit:
    return edit(anchor, text, scope, placement=Placement.BEFORE, **more)
