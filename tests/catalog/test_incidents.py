"""Incidents of the past that are the engine's own behaviour: shown on the releases' code, by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.catalog.cases import CASES

PACKED = Path(__file__).with_name("packed_calls.py")


@pytest.mark.real
@pytest.mark.parametrize(("version", "wrong"), [("0.23.0", True), ("0.24.0", False), ("0.32.0", False)])
def test_incident_22_calls_are_lost_in_streams_whose_deltas_hold_several_tokens(server, tree, version, wrong):
    """The parser of 0.23 does not put together a tag that comes in one delta with its neighbours; later ones do."""
    assert bool(server.observe(tree(version), version, PACKED)) is wrong


@pytest.mark.real
@pytest.mark.parametrize("version", ["0.24.0", "0.33.0"])
def test_incident_28_turboquant_drops_a_cached_prefix_beside_a_long_new_prompt(observe, version):
    """And with PN401 it attends to it: what is seen of the same batch differs."""
    before, after = observe("PN401", version, patched=False), observe("PN401", version, patched=True)
    assert before != after == CASES["PN401"].green_on(version)
