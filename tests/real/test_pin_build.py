"""The real CPU pin."""

import os
import subprocess
from pathlib import Path

import pytest

from genesisd.pins.catalog import find_pin, load_pins
from genesisd.pins.environment import build
from genesisd.pins.verify import verify

pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

PINS = Path(__file__).parents[2] / "etc" / "pins.yaml"
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()


def test_cpu_pin_builds_and_its_vllm_starts(tmp_path):
    """The current pin's environment is whole, without what it drops, and its vllm knows itself as a CPU build."""
    env = build(find_pin(load_pins(PINS), "cpu-0.32.0"), CACHE)
    names = {one.name for one in env.manifest.distributions}
    assert not names & {"triton", "torchvision", "torchaudio", "torchcodec"}
    assert {one.name: one.version for one in env.manifest.distributions}["torch"].endswith("+cpu")
    assert verify(env, full=True) == ()
    quiet = {
        "HOME": str(tmp_path),
        "XDG_CACHE_HOME": str(tmp_path),
        "VLLM_NO_USAGE_STATS": "1",
        "TMPDIR": str(tmp_path),
    }
    said = subprocess.run(
        [env.vllm, "--version"], env=os.environ | quiet, capture_output=True, text=True, timeout=300, check=True
    )
    assert said.stdout.split()[-1] == "0.32.0+cpu"
