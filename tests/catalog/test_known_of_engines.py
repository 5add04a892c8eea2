"""What is said here about the engine's models and flags is what its releases have."""

from __future__ import annotations

import ast
import re

import pytest

from genesisd.patches.compatibility import load_compatibility
from genesisd.patches.known_bad import load_known_bad
from genesisd.patches.model_config import HYBRIDS
from genesisd.patches.native import load_native
from genesisd.patches.serve_flags import SHORT
from tests.catalog.releases import RELEASES


def flags_of(tree):
    source = (tree / "vllm/engine/arg_utils.py").read_text()
    return set(re.findall(r'"(--?[a-z][a-z-]*)"', source))


def hybrids_of(tree):
    """Architectures whose class, or one that it is made from, says that it is hybrid."""
    models = tree / "vllm/model_executor/models"
    bases: dict[str, set[str]] = {}
    for file in models.rglob("*.py"):
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.ClassDef):
                named = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
                bases.setdefault(node.name, set()).update(named)
                if any(
                    "is_hybrid" in ast.unparse(line)
                    for line in node.body
                    if isinstance(line, ast.Assign | ast.AnnAssign)
                ):
                    bases[node.name].add("IsHybrid")

    def is_hybrid(name, seen=()):
        return name == "IsHybrid" or any(
            is_hybrid(one, (*seen, name)) for one in bases.get(name, ()) if one not in seen
        )

    registry = (models / "registry.py").read_text()
    named = re.findall(r'"(\w+)": \(\s*"[\w.]+",\s*"(\w+)",?\s*\)', registry)
    return {architecture for architecture, name in named if is_hybrid(name)}


def test_hybrid_architectures_are_those_of_the_releases(tree):
    """No more and no fewer: a hybrid that is taken for another would miss its warnings."""
    found = [hybrids_of(tree(version)) for version in RELEASES]
    assert all(len(one) > 20 for one in found)
    assert set().union(*found) == HYBRIDS


@pytest.mark.parametrize("version", RELEASES)
def test_flags_that_tables_ask_about_exist(tree, version):
    """A row about a flag that is spelled otherwise would never hold."""
    whens = [row.when for row in load_known_bad()] + [row.when for row in load_compatibility().rows]
    asked = {name.partition(".")[0] for when in whens if when is not None for name in when.flags}
    knobs = " ".join(one.knob or "" for one in load_native())
    asked |= {name for name in re.findall(r"--[a-z-]+", knobs) if "parser" not in name}
    asked |= {long for short, long in SHORT.items() if short in flags_of(tree(version))}
    assert sorted(asked - flags_of(tree(version))) == []


def test_short_names_are_those_of_the_latest_release(tree):
    """Each stands beside its long name."""
    source = (tree([*RELEASES][-1]) / "vllm/engine/arg_utils.py").read_text()
    pairs = dict(re.findall(r'"(--[a-z-]+)",\s*"(-[a-z]+)"', source))
    assert {short: long for short, long in SHORT.items() if pairs.get(long) != short} == {}
