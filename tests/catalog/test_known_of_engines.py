"""What is said here about the engine's models and flags is what its releases have."""

from __future__ import annotations

import ast
import re

import pytest

from genesisd.patches.compatibility import load_compatibility
from genesisd.patches.graphs import BY_LEVEL, DEFAULT_LEVEL, MODES
from genesisd.patches.known_bad import load_known_bad
from genesisd.patches.model_config import HYBRIDS
from genesisd.patches.native import load_native
from genesisd.patches.serve_flags import PARTS, SHORT
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


@pytest.mark.parametrize("version", RELEASES)
def test_graphs_of_each_level_are_those_of_the_releases(tree, version):
    """And so are the names of the modes, the level that nobody asked for, and the flags that are parts of another."""
    config = (tree(version) / "vllm/config/vllm.py").read_text()
    levels = re.split(r"^OPTIMIZATION_LEVEL_0(\d) = ", config, flags=re.MULTILINE)[1:]
    told = {
        level: re.search(r'"cudagraph_mode": CUDAGraphMode\.(\w+)', text)[1]
        for level, text in zip(levels[::2], levels[1::2], strict=True)
    }
    assert told == BY_LEVEL
    assert f"optimization_level: OptimizationLevel = OptimizationLevel.O{DEFAULT_LEVEL}\n" in config
    modes = (tree(version) / "vllm/config/compilation.py").read_text().partition("class CUDAGraphMode(enum.Enum):")[2]
    assert re.findall(r"^    ([A-Z_]+) = ", modes.partition("def ")[0], re.MULTILINE) == [*MODES]
    assert set(PARTS) == {flag for flag in flags_of(tree(version)) if flag.startswith("--spec-")}


def test_short_names_are_those_of_the_latest_release(tree):
    """Each stands beside its long name."""
    source = (tree([*RELEASES][-1]) / "vllm/engine/arg_utils.py").read_text()
    pairs = dict(re.findall(r'"(--[a-z-]+)",\s*"(-[a-z]+)"', source))
    assert {short: long for short, long in SHORT.items() if pairs.get(long) != short} == {}
