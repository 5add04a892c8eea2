"""The patches of the examples are accounted for, and what every policy makes of them is written down."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import genesisd
from genesisd import yamlfile
from genesisd.config import load
from genesisd.config.accounts import complaints, covered, environ_complaints
from genesisd.patches.attribution import Severity, below_floor
from genesisd.patches.catalog import catalog
from genesisd.patches.flags import Alias, Flag
from genesisd.patches.parameters import Kind, Parameter
from genesisd.patches.policy import apply_policy
from genesisd.patches.spec import Policy
from tests.unit.patches.made import patch

ROOT = Path(__file__).parents[3]
FLOOR = ROOT / "tests" / "data" / "attribution-floor.yaml"
GOLDEN = ROOT / "tests" / "data" / "policy-plans.json"
EXAMPLES = {
    str(file.relative_to(ROOT)): file for file in [ROOT / "etc/genesisd.yaml", *ROOT.glob("etc/examples/*.yaml")]
}


def configs():
    return {name: load(file, environ={"HOME": "/root"}, root=True) for name, file in EXAMPLES.items()}


def test_coverage_only_rises():
    """Every example has a floor, reaches it, and has raised it to what it reaches."""
    measured = {name: covered(config, catalog(), genesisd.__version__) for name, config in configs().items()}
    assert below_floor(measured, yamlfile.load(FLOOR).content) == ()


@pytest.mark.parametrize("name", EXAMPLES)
def test_roles_contradict_nothing(name):
    """What is kept off is off, and what carries weight is on."""
    found = complaints(load(EXAMPLES[name], environ={"HOME": "/root"}, root=True), catalog(), genesisd.__version__)
    assert [str(one) for one in found if one.severity is Severity.ERROR] == []


def plans():
    return {
        f"{name} {worker} {policy}": _plan(spec, policy)
        for name, config in sorted(configs().items())
        for worker, spec in config.workers.items()
        for policy in Policy
    }


def test_plans_of_the_examples_are_written_down():
    """Every example under every policy: a change of any plan shows as a change of this file."""
    again = f"if that is meant: python -m tests.unit.config.test_accounts, and look at what changed in {GOLDEN.name}"
    assert json.loads(GOLDEN.read_text()) == plans(), again


def _plan(spec, policy):
    plan = apply_policy(spec.env, policy, spec.patches.attribution, catalog(), genesisd.__version__)
    asked = sorted(name for name in spec.env if name.startswith(("GENESIS_", "SNDR_")))
    return {
        "included": list(plan.included),
        "excluded": dict(plan.excluded),
        "dropped": [name for name in asked if plan.environ.get(name) != spec.env[name]],
        "warnings": list(plan.warnings),
    }


def test_a_complaint_stands_where_the_switch_is_written(tmp_path):
    """Also when that is in a layer."""
    file = tmp_path / "genesisd.yaml"
    file.write_text(
        "models:\n  m:\n    command: [x]\n    env:\n      GENESIS_ENABLE_P1_A: '1'\n      GENESIS_ENABLE_P2_B: '1'\n"
        "    patches:\n      attribution:\n        P2: {role: suspected_regression, note: slower}\n"
        "workers:\n  a: {use: {model: m}}\n  b: {command: [x]}\n"
    )
    patches = [patch(id="P1", flag=Flag("P1_A")), patch(id="P2", flag=Flag("P2_B"))]
    found = complaints(load(file, environ={"HOME": "/root"}, root=True), patches, "0.1")
    assert [(one.worker, one.severity, one.line, one.field) for one in found] == [
        ("a", "warn", 5, "models.m.env.GENESIS_ENABLE_P1_A"),
        ("a", "error", 9, "models.m.patches.attribution.P2.role"),
    ]
    assert str(found[0]).startswith(f"{file}:5: models.m.env.GENESIS_ENABLE_P1_A: P1 is switched on")


def test_a_variable_that_would_do_nothing_is_an_error_where_it_is_written(tmp_path):
    """A slip, a short flag, a value out of range, a switch where there is no pin: each would leave a patch off."""
    file = tmp_path / "genesisd.yaml"
    file.write_text(
        "workers:\n  a:\n    pin: p\n    model: m\n    env:\n      GENESIS_ENABLE_P1: '1'\n"
        "      GENESIS_P1_COUNT: '9'\n      GENESIS_OWN: x\n    patches: {extra_env: [GENESIS_OWN]}\n"
        "  b:\n    command: [x]\n    env: {GENESIS_ENABLE_P1_A: '1'}\npins: pins.yaml\n"
    )
    (tmp_path / "pins.yaml").write_text("pins:\n  p: {package: vllm, version: 0.32.0, python: '3.11'}\n")
    count = Parameter("GENESIS_P1_COUNT", Kind.INT, low=1, high=8)
    patches = [patch(id="P1", flag=Flag("P1_A"), parameters=(count,))]
    found = environ_complaints(load(file, environ={"HOME": "/root"}, root=True), patches)
    told = {(one.worker, one.line, one.field.rpartition(".")[2]): one.text for one in found}
    assert set(told) == {
        ("a", 6, "GENESIS_ENABLE_P1"),
        ("a", 7, "GENESIS_P1_COUNT"),
        ("b", 12, "GENESIS_ENABLE_P1_A"),
    }
    assert "did you mean GENESIS_ENABLE_P1_A?" in told["a", 6, "GENESIS_ENABLE_P1"]
    assert "expected a value of kind int from 1 up to 8" in told["a", 7, "GENESIS_P1_COUNT"]
    assert "command of its own" in told["b", 12, "GENESIS_ENABLE_P1_A"]


def test_names_of_one_patch_that_contradict_each_other_are_an_error_where_off_is_written(tmp_path):
    """Told by the check of the configuration, with both names."""
    file = tmp_path / "genesisd.yaml"
    file.write_text(
        "workers:\n  a:\n    pin: p\n    model: m\n    env:\n      GENESIS_ENABLE_P1_A: '1'\n"
        "      GENESIS_ENABLE_P1_OLD: '0'\npins: pins.yaml\n"
    )
    (tmp_path / "pins.yaml").write_text("pins:\n  p: {package: vllm, version: 0.32.0, python: '3.11'}\n")
    patches = [patch(id="P1", flag=Flag("P1_A", (Alias("P1_OLD"),)))]
    (found,) = environ_complaints(load(file, environ={"HOME": "/root"}, root=True), patches)
    assert (found.severity, found.line, found.field) == (Severity.ERROR, 7, "workers.a.env.GENESIS_ENABLE_P1_OLD")
    assert "GENESIS_ENABLE_P1_OLD switches off what GENESIS_ENABLE_P1_A switches on" in found.text


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(plans(), indent=1) + "\n")
