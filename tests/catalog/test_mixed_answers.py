"""What P61c, PN527 and PN528 make of an answer together."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from genesisd.patches.catalog import catalog
from tests.catalog.forge import linked, plan_on
from tests.catalog.releases import CACHE

TOGETHER = ("P61c", "PN527", "PN528")
ANSWERS = Path(__file__).with_name("mixed_answers.py")


@pytest.mark.real
@pytest.mark.parametrize("version", ["0.32.0", "0.33.0"])
def test_prose_stays_prose_and_a_call_a_call(server, tree, tmp_path_factory, version):
    """Whatever stands beside what, whole and in any stream: text is shown as written, in its place, and calls are calls."""
    plan = plan_on(tree(version), [patch for patch in catalog() if patch.id in TOGETHER])
    target = CACHE / "work" / "-".join(("mixed", *tmp_path_factory.getbasetemp().parts[-2:], version))
    try:
        patched = linked(tree(version), target, plan.texts)
        assert server.observe(patched, version, ANSWERS) == []
    finally:
        shutil.rmtree(target, ignore_errors=True)
    assert server.observe(tree(version), version, ANSWERS)
