"""What each example configuration comes to under each policy, on record: a change of the catalog shows in a diff.

``GENESISD_WRITE_PLANS=1 pytest tests/unit/patchtool/test_golden_plans.py`` writes the records anew; read the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from genesisd.config.root import load
from genesisd.patches.catalog import catalog
from genesisd.patches.spec import Policy
from genesisd.patchtool.planning import plan_facts
from genesisd.patchtool.recorded import PLANS
from genesisd.patchtool.workers import UNKNOWN, ask, planned, with_policy

ROOT = Path(__file__).parents[3]
EXAMPLES = sorted((ROOT / "etc/examples").glob("*.yaml"))
CASES = [(file, policy) for file in EXAMPLES for policy in Policy]


def plans(file: Path, policy: Policy) -> dict[str, object]:
    """Every worker that can be patched, as a box without cards, caches and trees sees it."""
    config = load(file, environ={"HOME": "/nowhere"}, root=False)
    found = {}
    for name, spec in config.workers.items():
        if spec.pin is not None:
            asked = with_policy(ask(config, name, lambda spec: None if spec.gpus else ()), policy)
            told = plan_facts(asked, planned(asked, catalog()))
            gates = {one: standing["verdict"] for one, standing in told.pop("verdicts").items()}
            # Without a tree the gates are all that can be told: of what they let through, no more is known.
            shut = {one: gate for one, gate in gates.items() if gate not in {"not_enabled", UNKNOWN}}
            found[name] = told | {"shut": shut}
    return found


@pytest.mark.parametrize(("file", "policy"), CASES, ids=lambda one: one.stem if isinstance(one, Path) else str(one))
def test_the_plan_is_the_one_on_record(file, policy, monkeypatch):
    """Included, excluded and why, passed on, warnings, faults, and the first shut gate of each patch."""
    monkeypatch.delenv("HF_HOME", raising=False)
    path = ROOT / PLANS / f"{file.stem}-{policy}.json"
    found = plans(file, policy)
    if os.environ.get("GENESISD_WRITE_PLANS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    assert found == json.loads(path.read_text())


def test_nothing_is_on_record_that_is_no_example():
    """A record of a configuration that is gone proves nothing."""
    wanted = {f"{file.stem}-{policy}.json" for file, policy in CASES}
    assert {path.name for path in (ROOT / PLANS).iterdir()} == wanted
