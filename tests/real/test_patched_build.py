"""A patched build of the real engine: what Python and vLLM make of it."""

import json
import os
import subprocess

import pytest

import genesisd
from genesisd.attest import PLUGIN
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import find_build, make_build
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import build as build_environment
from genesisd.pins.install import site_packages
from genesisd.pins.recipe import Recipe
from genesisd.pins.verify import verify
from tests.real.test_pin_build import CACHE, PINS

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

KEY = "00000000fade"
PATH = "vllm/v1/core/sched/scheduler.py"
ASK = """
import importlib.metadata as m, json, sys
import vllm, vllm.v1.core.sched.scheduler as s, vllm.sampling_params as p
points = [[one.name, one.value] for one in m.entry_points(group="vllm.general_plugins")]
files = {"vllm": vllm.__file__, "patched": s.__file__, "linked": p.__file__, "cached": s.__cached__}
print(json.dumps({"version": m.version("vllm"), "points": points, "mark": s._genesis_mark} | files))
"""


@pytest.fixture(scope="module")
def environment():
    return build_environment(find_pin(load_pins(PINS), "cpu-0.32.0"), CACHE)


@pytest.fixture(scope="module")
def build(environment):
    remove_build(CACHE, f"{environment.name}+{KEY}")
    with (site_packages(environment.path) / PATH).open(newline="", encoding="utf-8") as file:
        text = file.read() + "\n_genesis_mark = 7\n"
    yield make_build(CACHE, environment, Recipe(KEY, {PATH: text}, PLUGIN, scopes={"P1": [[PATH, ""]]}))
    remove_build(CACHE, f"{environment.name}+{KEY}")


@pytest.fixture
def own_environment(build, tmp_path):
    """What a worker of the build gets, with all by-products in the test's folder."""
    quiet = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "TMPDIR": str(tmp_path),
        "VLLM_NO_USAGE_STATS": "1",
    }
    return os.environ | quiet | {"PYTHONPATH": str(build.path)}


def test_engine_comes_from_the_build_with_all_its_plugins(build, environment, own_environment):
    """Patched and linked modules, the version, our plugin and upstream's own, each of them once."""
    argv = [str(environment.python), "-c", ASK]
    done = subprocess.run(argv, env=own_environment, capture_output=True, text=True, check=True, timeout=300)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told["version"] == f"0.32.0+cpu.genesis.{KEY}"
    assert told["mark"] == 7
    assert all(told[name].startswith(f"{build.path}/") for name in ("vllm", "patched", "linked", "cached"))
    names = [name for name, _ in told["points"]]
    assert ["genesisd_attest", "genesisd_attest:register"] in told["points"]
    assert "lora_filesystem_resolver" in names
    assert len(names) == len(set(names))


def test_engine_knows_its_platform(environment, build, own_environment):
    """The local segment that it reads the platform from is still there, and its command tells the build's version."""
    argv = [str(environment.vllm), "--version"]
    said = subprocess.run(argv, env=own_environment, capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout.split()[-1] == build.version
    code = "from vllm.platforms import current_platform; print(current_platform.is_cpu())"
    argv = [str(environment.python), "-c", code]
    said = subprocess.run(argv, env=own_environment, capture_output=True, text=True, timeout=300, check=True)
    assert said.stdout.split()[-1] == "True"


def test_nothing_changed_by_building_and_running(environment, build):
    """After the above: the build is whole to the last file, and so is the environment that it shares them with."""
    assert verify_build(build, CACHE, deep=True) == ()
    assert verify(environment, full=True) == ()
    assert find_build(CACHE, environment.name, KEY) == build
    assert build.manifest.versions["genesisd"] == genesisd.__version__
    assert build.manifest.links == "hard"
