"""Code of this program that a patch carries into the engine."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import genesisd
from genesisd.patches import carried as carrying
from genesisd.patches.carried import carried

FILES = {
    edit.path: edit.text for edit in carried("carried.turboquant", "carried.ahead", "carried.lm_head", "carried.store")
}
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
    assert not [path for path in FILES if path.endswith(("bench.py", "timing.py", "cases.py", "problems.py"))]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Modules by path, in place of this program's own."""

    def lay_out(files):
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        for folder in (tmp_path, *(one for one in tmp_path.rglob("*") if one.is_dir())):
            (folder / "__init__.py").touch()
        monkeypatch.setattr(carrying, "_ROOT", tmp_path)

    return lay_out


@pytest.mark.parametrize("line", ["from . import other", "import genesisd.a.other", "import os, genesisd.a.other as o"])
def test_an_import_that_a_copy_could_not_make_is_refused(tree, line):
    """The copy would look for this program, or for what did not come along: seen here, not in the engine."""
    tree({"a/one.py": f"import os\n{line}\n", "a/other.py": ""})
    with pytest.raises(ValueError, match=r"genesisd\.a\.one, line 2: .* in full"):
        carried("a.one")


def test_device_code_of_one_name_in_two_folders_is_two_files(tree):
    """Each module finds its own."""
    tree({"a/one.py": 'CODE = "x.cu"\nfrom genesisd.b import two\n', "b/two.py": 'CODE = "x.cu"\n'})
    tree({"a/x.cu": "first", "b/x.cu": "second"})
    found = {edit.path: edit for edit in carried("a.one")}
    assert [found[f"vllm/genesis/{folder}/x.cu"].text for folder in "ab"] == ["first", "second"]
    assert len({edit.id for edit in found.values()}) == len(found)


def test_what_is_imported_for_types_alone_comes_along(tree):
    """Nobody has to tell which imports run."""
    text = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from genesisd.a import other\n"
    tree({"a/one.py": text, "a/other.py": ""})
    found = {edit.path: edit.text for edit in carried("a.one")}
    assert "    from vllm.genesis.a import other\n" in found["vllm/genesis/a/one.py"]
    assert "vllm/genesis/a/other.py" in found
