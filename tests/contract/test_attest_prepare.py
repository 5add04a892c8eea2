"""What builds ask of the attestation plugin, and of the stand-in that tests of builds use in its place."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import genesisd
from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import make_build
from genesisd.pins.errors import BuildError
from tests.helpers.pin_tree import STAND_IN, environment_of, make_environment, packages_of, recipe

REAL = Path(genesisd.__file__).parent / "attest" / "plugin.py"
FILES = {
    "vllm/core/sched.py": "LIMIT = 3\n\n\ndef steps():\n    return LIMIT\n",
    "vllm/core/cache.py": "def size():\n    return 11\n",
    "vllm/core/new.py": "class New:\n    def one(self):\n        return 1\n",
}
SCOPES = {
    "P1": [["vllm/core/sched.py", "steps"], ["vllm/core/cache.py", "size"]],
    "P2": [["vllm/core/sched.py", ""]],
    "P3": [["vllm/core/new.py", ""]],
}
KINDS = {"function", "property", "class_constant", "module_constant", "triton", "module"}


@pytest.fixture
def cache(tmp_path):
    make_environment(tmp_path / "cache")
    return tmp_path / "cache"


@pytest.fixture(params=[STAND_IN, REAL], ids=["stand-in", "plugin"])
def wanted(request):
    if not request.param.exists():
        pytest.skip(f"{request.param.name} is not there")
    made = recipe(FILES, plugin=request.param, whole={"vllm/core/new.py": "new"})
    return replace(made, scopes=SCOPES)


@pytest.fixture
def build(wanted, cache):
    return make_build(cache, environment_of(cache), wanted)


def test_every_patch_is_answered_for(build):
    """Each patch has something to attest, or the reason why not."""
    answer = build.attest
    told = {patch for kind in ("items", "unattestable") for one in answer[kind] for patch in one["patches"]}
    assert (answer["format"], told) == (1, set(SCOPES))


def test_items_have_the_form_that_is_compared(build):
    """Where it is found, what it is, and its digest; only patched files are spoken of."""
    assert build.attest["items"]
    for item in build.attest["items"]:
        assert set(item) >= {"patches", "path", "module", "name", "kind", "digest"}
        assert item["path"] in FILES
        assert item["module"] == item["path"].removesuffix(".py").replace("/", ".")
        assert item["kind"] in KINDS
        assert len(bytes.fromhex(item["digest"])) == 32


def test_build_is_whole_and_runs(build, cache):
    """Bytecode of all patched files is there: running them writes nothing, and gives the patched results."""
    code = "import vllm.core.sched as s, vllm.core.cache as c, vllm.core.new as n, genesisd_attest"
    code += "; print(s.steps(), c.size(), n.New().one(), callable(genesisd_attest.register))"
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    path = f"{build.path}:{packages_of(environment_of(cache).path)}"
    done = subprocess.check_output(
        [sys.executable, "-S", "-c", code], env=env | {"PYTHONPATH": path}, text=True, cwd="/"
    )
    assert done == "3 11 1 True\n"
    assert verify_build(build, cache, deep=True) == ()


def test_the_same_recipe_gives_the_same_build_anywhere(build, wanted, cache, tmp_path):
    """In another cache: the same manifest but for the times, the same bytes of bytecode, no trace of the place."""
    twin = make_build(tmp_path / "another" / "place", environment_of(cache), wanted)
    timeless = [replace(one.manifest, seconds=0.0, built_at=0.0) for one in (build, twin)]
    assert timeless[0] == timeless[1]
    bytecode = [name for name, file in build.manifest.files.items() if file.kind == "bytecode"]
    assert len(bytecode) == len(FILES) + 1
    for name in bytecode:
        content = (twin.path / name).read_bytes()
        assert content == (build.path / name).read_bytes(), name
        assert str(tmp_path).encode() not in content


@pytest.mark.parametrize("plugin", [STAND_IN, REAL], ids=["stand-in", "plugin"])
def test_text_that_is_no_python_is_a_failure(cache, plugin):
    """It ends with another status than 0, and says where."""
    if not plugin.exists():
        pytest.skip(f"{plugin.name} is not there")
    with pytest.raises(BuildError, match=r"(?s)SyntaxError|invalid syntax|sched\.py"):
        make_build(cache, environment_of(cache), recipe({"vllm/core/sched.py": "def steps(:\n"}, plugin=plugin))
