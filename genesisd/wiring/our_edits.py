"""A patch's edits in the words of the watch's dossiers: text before and after, whatever sort of edit it is."""

from __future__ import annotations

from genesisd.patches.edits import AnchorEdit, Edit
from genesisd.patches.model import Patch
from genesisd.watch.dossier import OurEdit


def our_edits(patch: Patch) -> tuple[OurEdit, ...]:
    """In the order of the patch."""
    return tuple(map(_edit, patch.edits))


def _edit(edit: Edit) -> OurEdit:
    if not isinstance(edit, AnchorEdit):
        return OurEdit(id=edit.id, path=edit.path, variants=(("", edit.text),))
    variants = tuple((variant.anchor, edit.written(variant)) for variant in edit.variants)
    return OurEdit(id=edit.id, path=edit.path, scope=edit.scope, required=edit.required, variants=variants)
