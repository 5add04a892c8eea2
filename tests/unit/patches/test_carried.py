"""Code of this program that a patch carries into the engine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import genesisd
from genesisd.patches.carried import carried

FILES = {edit.path: edit.text for edit in carried("carried.turboquant")}
MODULES = {path: text for path, text in FILES.items() if path.endswith(".py")}


def imported(text):
    """Modules that a text imports, also those that ``from package import module`` may mean."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{one.name}" for one in node.names)


@pytest.mark.parametrize("path", MODULES)
def test_a_copy_needs_nothing_of_this_program(path):
    """The engine's environment does not have it."""
    assert [name for name in imported(MODULES[path]) if name.split(".")[0] == "genesisd"] == []


def test_what_a_copy_imports_came_along():
    """With the packages in which it lies, so that it can be imported."""
    modules = {path.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".") for path in MODULES}
    for text in MODULES.values():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom) and node.module.startswith("vllm."):
                assert node.module in modules
    assert all(module.rpartition(".")[0] in {*modules, "vllm"} for module in modules)


def test_only_imports_are_changed():
    """What is carried is what was tested here."""
    root = Path(genesisd.__file__).parent
    for path, text in FILES.items():
        ours = (root / path.removeprefix("vllm/genesis/")).read_text(encoding="utf-8").splitlines()
        changed = [line for line, other in zip(text.splitlines(), ours, strict=True) if line != other]
        assert all("import" in line for line in changed)


def test_device_code_comes_along_with_the_module_that_names_it():
    """A module that reads a file beside it finds it in the engine too."""
    named = {name for text in MODULES.values() for name in re.findall(r'(?<!b)"([\w.]+\.cu)"', text)}
    assert named == {path.rpartition("/")[2] for path in FILES.keys() - MODULES.keys()}


def test_tools_of_the_benchmark_stay_here():
    """The engine gets what it runs, and no more."""
    assert not [path for path in FILES if path.endswith(("bench.py", "timing.py", "cases.py", "reference.py"))]
