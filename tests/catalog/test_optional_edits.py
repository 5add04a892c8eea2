"""An optional edit whose place has changed: half a patch may not be told as applied."""

from __future__ import annotations

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.engine import plan
from genesisd.patches.outcome import AnchorMissing, Applied
from tests.catalog.forge import texts_for
from tests.catalog.releases import RELEASES

OPTIONAL = [(patch, edit) for patch in catalog() for edit in patch.anchored() if not edit.required]


@pytest.mark.parametrize(("patch", "edit"), OPTIONAL, ids=[f"{patch.id}-{edit.id}" for patch, edit in OPTIONAL])
def test_a_patch_is_not_applied_where_the_place_of_an_optional_edit_has_changed(tree, patch, edit):
    """On each release that has the place, with one blank more in it."""
    tried = 0
    for version in RELEASES:
        texts = texts_for(tree(version), [patch])
        outcome = plan(texts, patch)
        cuts = [cut for cut in outcome.cuts if cut.edit == edit.id] if isinstance(outcome, Applied) else []
        for cut in cuts:
            text = texts[cut.path]
            end = text.index("\n", cut.anchor.start)
            moved = texts | {cut.path: f"{text[:end]} {text[end:]}"}
            assert isinstance(plan(moved, patch), AnchorMissing), version
            tried += 1
    assert tried
