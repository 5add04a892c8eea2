"""What the stricter gates check: that what was measured, and what was planned, is on record."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from genesisd.config.root import Config, load
from genesisd.patches.compatibility import load_compatibility
from genesisd.patches.lifecycle import Lifecycle, StableKind
from genesisd.patches.spec import Policy, Role
from genesisd.patchtool.clauses import Evidence

CONFIGURATIONS = ("etc/genesisd.yaml", "etc/examples/*.yaml")
PLANS = "tests/data/plans"
BASELINES = "benchmarks/baselines"
_BASELINE = ("lane", "pin", "measured")


def shipped(checkout: Path) -> dict[str, Config]:
    """The configurations that come with the project, by their path in it. Raises ConfigError."""
    files = [file for pattern in CONFIGURATIONS for file in sorted(checkout.glob(pattern))]
    return {str(file.relative_to(checkout)): load(file, environ={"HOME": "/nowhere"}, root=False) for file in files}


def bench_evidence(evidence: Evidence) -> Iterator[str]:
    """Gains that nobody measured. An optional_perf without evidence does not even load."""
    attributed = [
        (name, entry)
        for config in shipped(evidence.tool.checkout).values()
        for worker in config.workers.values()
        for name, entry in worker.patches.attribution.items()
    ]
    measured = {name for name, entry in attributed if entry.bench_evidence}
    claimed = {name for name, entry in attributed if entry.role is Role.OPTIONAL_PERF}
    claimed |= {
        patch.id
        for patch in evidence.tool.patches
        if patch.lifecycle is Lifecycle.STABLE and patch.stable_kind is StableKind.BENCH
    }
    for name in sorted(claimed - measured):
        yield f"{name}: no shipped configuration has bench_evidence for it"


def plans(evidence: Evidence) -> Iterator[str]:
    """Example configurations whose plans are not on record."""
    for file in sorted(evidence.tool.checkout.glob("etc/examples/*.yaml")):
        for policy in Policy:
            path = Path(PLANS, f"{file.stem}-{policy}.json")
            if not (evidence.tool.checkout / path).exists():
                yield f"{file.name}: no plan {path} on record for policy {policy}"


def lane_baselines(evidence: Evidence) -> Iterator[str]:
    """Lanes without a baseline to compare with."""
    for lane in sorted(_lanes(evidence)):
        path = evidence.tool.checkout / BASELINES / f"{lane}.json"
        if not path.exists():
            yield f"lane {lane}: no {BASELINES}/{lane}.json"
            continue
        told = json.loads(path.read_text(encoding="utf-8"))
        lacking = [word for word in _BASELINE if not told.get(word)]
        if lacking:
            yield f"lane {lane}: {BASELINES}/{lane}.json lacks {', '.join(lacking)}"


def _lanes(evidence: Evidence) -> set[str]:
    found = {
        worker.patches.lane
        for config in shipped(evidence.tool.checkout).values()
        for worker in config.workers.values()
        if worker.patches.lane is not None
    }
    return found | set(load_compatibility().lanes)
