"""The builder of builds as a child, on the tree of the real pin, with the catalog as it is."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from genesisd.patches.catalog import catalog
from genesisd.patches.model import Patch
from genesisd.patches.outcome import Applied
from genesisd.patches.reading import read_texts
from genesisd.patches.register import load_register
from genesisd.patches.stack import plan_all
from genesisd.pins.build_gc import remove_build
from genesisd.pins.build_verify import verify_build
from genesisd.pins.builds import find_build
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import Environment, find_environment
from genesisd.pins.install import site_packages
from tests.real.conftest import PIN, ROOT
from tests.real.serving import RealVllm

PINS = ROOT / "etc/pins.yaml"
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()


@pytest.fixture(scope="module")
def env(real_vllm_env: RealVllm) -> Environment:
    """The pin's environment in the cache."""
    found = find_environment(find_pin(load_pins(PINS), PIN), CACHE)
    if found is None:
        pytest.skip(f"another vllm is tested with: {real_vllm_env.vllm}")
    return found


@pytest.fixture
def key(env: Environment) -> Iterator[str]:
    """An address at which nothing is; what comes to be there is removed."""
    one = secrets.token_hex(6)
    yield one
    if find_build(CACHE, env.name, one) is not None:
        remove_build(CACHE, f"{env.name}+{one}")


def begin(key: str, *patches: str) -> subprocess.Popen[str]:
    job = json.dumps({"pins": str(PINS), "pin": PIN, "cache": str(CACHE), "key": key, "patches": patches})
    pipe = subprocess.PIPE
    argv = [sys.executable, "-P", "-m", "genesisd.wiring.assemble"]
    child = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True)
    assert child.stdin is not None
    child.stdin.write(job)
    child.stdin.close()
    child.stdin = None  # else communicate would flush it
    return child


def ended(child: subprocess.Popen[str]) -> tuple[int, list[dict[str, Any]]]:
    out, _ = child.communicate(timeout=300)
    return child.returncode, [json.loads(line) for line in out.splitlines()]


def run(key: str, *patches: str) -> tuple[int, list[dict[str, Any]]]:
    return ended(begin(key, *patches))


def alone(env: Environment) -> list[Patch]:
    """The patches of the catalog that stand on no other."""
    return [one for one in catalog() if not one.bases() and not one.requires and not one.conflicts]


def test_the_catalog_becomes_a_build_whose_text_differs_where_it_says(env: Environment, key: str) -> None:
    """What is told as applied is in the files of the build, and in no file of the pin."""
    patches = alone(env)
    status, lines = run(key, *(one.id for one in patches))
    assert (status, lines[-1]) == (0, {"built": f"{env.name}+{key}"})
    build = find_build(CACHE, env.name, key)
    assert build is not None
    pristine = read_texts(site_packages(env.path), patches)
    plan = plan_all(pristine, patches)
    applied = {name for name, outcome in plan.outcomes.items() if isinstance(outcome, Applied)}
    assert applied
    told = build.manifest.notes["patches"]
    assert {name for name, one in told.items() if one["verdict"] == "applied"} == applied
    for path, text in plan.texts.items():
        assert (build.path / path).read_bytes() == text.encode()
        assert text != pristine.get(path)
    attested = {name for kind in ("items", "unattestable") for one in build.attest[kind] for name in one["patches"]}
    assert applied <= attested
    assert read_texts(site_packages(env.path), patches) == pristine
    assert verify_build(build, CACHE) == ()
    status, lines = run(key, *(one.id for one in patches))
    assert (status, lines) == (0, [{"built": build.name}])


def test_two_at_once_make_one_build_of_the_real_tree(env: Environment, key: str) -> None:
    """The second waits and finds it."""
    patch = alone(env)[0].id
    said = [ended(child) for child in [begin(key, patch), begin(key, patch)]]
    assert [status for status, _ in said] == [0, 0]
    assert sum(any(one.get("step") == "link" for one in lines) for _, lines in said) == 1


def test_a_chain_without_its_base_is_refused_by_name(env: Environment, key: str) -> None:
    """Nothing is built, and the message names base and dependants."""
    on_top = next((one for one in catalog() if one.bases()), None)
    if on_top is None:
        pytest.skip("no patch of the catalog stands on another")
    status, lines = run(key, on_top.id)
    assert status == 1
    assert lines[-1]["failed"].startswith(f"{on_top.id} stand on {on_top.bases()[0]}, which is not applied")
    assert find_build(CACHE, env.name, key) is None


def test_a_patch_that_is_not_implemented_is_refused_by_name(env: Environment, key: str) -> None:
    """Known to the register is not implemented."""
    name = next(one for one in load_register().records if one not in {patch.id for patch in catalog()})
    status, lines = run(key, name)
    assert (status, lines[-1]["failed"]) == (1, f"no patch {name} is implemented")
