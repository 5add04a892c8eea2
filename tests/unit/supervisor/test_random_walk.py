"""Invariants I1 to I7 over simulated boxes that go wrong in every way the world knows."""

from __future__ import annotations

import os
from collections import Counter

import pytest

from tests.unit.supervisor.world import walk

# A mutation run (it alone sets this variable) asks hundreds of times; the gate never walks less than in full.
WALKS = 200 if "MUTANT_UNDER_TEST" in os.environ else 10_000


@pytest.mark.timeout(600)  # the number of walks is fixed, not the time: it takes a minute where cores are busy
def test_invariants_hold_over_ten_thousand_walks():
    """No walk breaks an invariant, and the walks visit every phase often enough to mean something."""
    seen: Counter[str] = Counter()
    for seed in range(WALKS):
        world = walk(seed)
        seen.update({line.split("->")[1].split()[0] for line in world.trace if "->" in line})
    rare = {phase: seen[phase] for phase in
            ("stopped", "blocked", "starting", "warming", "ready", "degraded", "draining", "stopping", "backoff", "failed")
            if seen[phase] < WALKS // 50}  # fmt: skip
    assert rare == {}
