"""The tests of kernels that need torch, in the engine's environment with triton beside it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import find_environment
from tests.kernels.conftest import HERE, WITH_TORCH

ROOT = HERE.parents[1]
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
PIN = "cpu-0.32.0"
TRITON = HERE / "triton.txt"


@pytest.fixture(scope="module")
def engine() -> tuple[Path, str]:
    """The engine's Python, and the path on which it finds triton and pytest after its own packages."""
    found = find_environment(find_pin(load_pins(ROOT / "etc" / "pins.yaml"), PIN), CACHE)
    if found is None:
        pytest.skip(f"{PIN} is not built in {CACHE}: make pin")
    target = CACHE / "work" / TRITON.read_text().split()[0].replace("==", "-")
    if not (target / "complete").exists():
        _fetch(found.python, target)
    ours = next(entry for entry in sys.path if entry.endswith("site-packages"))
    return found.python, os.pathsep.join((str(ROOT), str(target), ours))


def _fetch(python: Path, target: Path) -> None:
    """The engine does without triton on a CPU: it is a gigabyte, and noisy."""
    command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes", "--upgrade"]
    done = subprocess.run(
        [*command, "--target", target, "-r", TRITON], capture_output=True, text=True, check=False, timeout=600
    )
    if done.returncode:
        pytest.skip(f"triton cannot be had: {done.stderr[-300:]}")
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
