"""Invariants I1 to I7 over simulated boxes that go wrong in every way the world knows."""

from __future__ import annotations

from collections import Counter

from tests.unit.supervisor.world import walk

WALKS = 10_000


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
