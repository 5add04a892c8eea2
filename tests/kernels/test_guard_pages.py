"""Reads and writes outside of tensors: most change no result, and end an engine at the page where its memory ends."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

ROOT = Path(__file__).parents[2]
OPERATIONS = ("query-major", "token-major", "hopper", "tq_codebook", "tq_store", "lm_head_fp8", "inside")


def ended(operation: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """How a process ended whose kernels had all tensors beside pages that nobody may touch."""
    command = [sys.executable, "-m", "tests.helpers.guard_pages", operation, folder]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_nothing_outside_of_a_tensor_is_touched(operation, tmp_path):
    """Whether a tensor ends or begins at such a page: the process lives, and the results are the reference's."""
    if operation == "hopper" and shutil.which("g++") is None:
        pytest.skip("no g++ to compile the device code with")
    done = ended(operation, tmp_path)
    assert done.returncode == 0, done.stdout[-500:] + done.stderr[:3000]
    assert "unlike the reference: none" in done.stdout


@pytest.mark.parametrize(("far", "said"), [("one too far", "before"), ("one too early", "behind")])
def test_a_read_outside_of_a_tensor_ends_the_process(far, said, tmp_path):
    """Such a kernel is seen, and the last line says where the tensor was."""
    done = ended(far, tmp_path)
    assert done.returncode == -signal.SIGSEGV
    assert done.stdout.splitlines()[-1].startswith(f"{said} a page")
