"""The tests of kernels that need torch, in the engine's environment with triton beside it."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from genesisd.errors import GenesisError
from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from genesisd.pins.trees import fetch_tree
from tests.kernels.conftest import CACHE, HERE, WITH_TORCH

ROOT = HERE.parents[1]
PIN = "cpu-0.32.0"
BESIDE = HERE / "beside-torch.txt"
"""Triton, which the engine does without on a CPU (a gigabyte, and noisy), and NVIDIA's compiler for device code, which
comes with torch for CUDA alone."""


@pytest.fixture(scope="module")
def engine() -> tuple[Path, str]:
    """The engine's Python, and the path on which it finds triton and pytest after its own packages."""
    pin = find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN)
    found = find_environment(pin, CACHE)
    if found is None:
        pytest.skip(f"{PIN} is not built in {CACHE}: make pin")
    try:
        fetch_tree(pin.package, pin.version, CACHE)  # some kernels are held against the engine's own
    except GenesisError as error:
        pytest.skip(f"no tree of {PIN}: {error}")
    target = CACHE / "work" / f"kernels-{hashlib.sha256(BESIDE.read_bytes()).hexdigest()[:12]}"
    if not (target / "complete").exists():
        _fetch(found.python, target)
    ours = next(entry for entry in sys.path if entry.endswith("site-packages"))
    return found.python, os.pathsep.join((str(ROOT), str(target), ours))


def _fetch(python: Path, target: Path) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--upgrade"]
    done = subprocess.run(
        [*command, "--target", target, "-r", BESIDE], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        pytest.skip(f"triton and nvrtc cannot be had: {done.stderr[-300:]}")
    (target / "complete").touch()


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("file", WITH_TORCH)
def test_passes_in_the_engines_environment(engine: tuple[Path, str], file: str) -> None:
    """Every test of the file passes there, and there are some."""
    python, path = engine
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", HERE / file],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert re.search(r"\d+ passed", done.stdout)
