"""A tree of one small file in which one patch of the catalog lands: its own anchors, in a scope made for them."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from genesisd.patches.catalog import catalog
from genesisd.patches.edits import AnchorEdit
from genesisd.patches.engine import plan
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied


@cache
def planted() -> tuple[Patch, AnchorEdit, str]:
    """A patch that is one edit, that edit, and a text on which it lands."""
    for patch in catalog():
        edit = patch.edits[0] if len(patch.edits) == 1 else None
        if isinstance(edit, AnchorEdit) and not patch.requires:
            text = _around(edit)
            if isinstance(plan({edit.path: text}, patch), Applied):
                return patch, edit, text
    raise LookupError("no patch of the catalog is one plain edit")


def plant(folder: Path) -> Path:
    """The tree in ``folder``."""
    _, edit, text = planted()
    file = folder / edit.path
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return folder


def _around(edit: AnchorEdit) -> str:
    anchor = edit.variants[0].anchor.strip("\n")
    names, lines = edit.scope.split("."), ["import os", ""]
    for depth, name in enumerate(names):
        lines.append("    " * depth + (f"class {name}:" if name[0].isupper() else f"def {name}(self):"))
    indent = len(anchor) - len(anchor.lstrip())
    lines += [" " * at + "if True:" for at in range(4 * len(names), indent, 4)]
    return "\n".join([*lines, " " * indent + "before_it = 1", anchor, " " * indent + "after_it = 1", ""])
