"""The real vLLM: its environment, built once into the cache folder that genesisd itself uses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.real.serving import RealVllm, Server, serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

ROOT = Path(__file__).parents[2]
PIN = "cpu-0.32.0"


@pytest.fixture(scope="session")
def real_vllm_env() -> RealVllm:
    """Python and vllm of the pin; GENESISD_TEST_VLLM names another vllm to test with."""
    named = os.environ.get("GENESISD_TEST_VLLM")
    return RealVllm(python=Path(named).with_name("python"), vllm=Path(named)) if named else _built()


@pytest.fixture(scope="session")
def serve(real_vllm_env: RealVllm) -> Callable[..., AbstractContextManager[Server]]:
    """``serve(model, args, extra_environment)``: a running server as a context manager."""
    return partial(serving, real_vllm_env)


def _built() -> RealVllm:
    cache = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
    command = [sys.executable, "-m", "genesisd.pins.build", "etc/pins.yaml", PIN, "--cache", str(cache)]
    done = subprocess.run([*command, "--progress", "json"], cwd=ROOT, capture_output=True, text=True, check=False)
    last = json.loads(done.stdout.splitlines()[-1]) if done.stdout else {}
    if done.returncode:
        pytest.fail(f"cannot build {PIN}: {last or done.stderr}")
    return RealVllm(python=Path(last["python"]), vllm=Path(last["vllm"]))
