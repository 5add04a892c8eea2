"""What a dossier tells of a case on a release's own code: the trial's answers are those of the matrix."""

from __future__ import annotations

import pytest

from genesisd.patches.catalog import catalog
from genesisd.watch.model import Pin
from genesisd.wiring.case_trial import tried
from genesisd.wiring.patch_facts import CHECKOUT, patch_facts

pytestmark = pytest.mark.real
EVERY = {patch.id: patch for patch in catalog()}


@pytest.mark.parametrize(
    ("name", "said"),
    [("P86", "fails without, passes with ours"), ("PN373", "passes without, was not run with ours (ours has no place")],
)
def test_a_case_is_run_in_the_pins_environment(real_vllm_env, tree, name, said):
    """Of a defect that the release has, and of one that upstream mended."""
    pin = Pin(id="now", version="0.32.0", tree=str(tree("0.32.0")), python=str(real_vllm_env.python))
    found = tried(EVERY[name], EVERY, patch_facts()[name].proven_by, CHECKOUT, [pin])
    assert found.told.startswith(said)
