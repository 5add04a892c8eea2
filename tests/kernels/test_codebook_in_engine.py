"""A release's own backend with P67 in it decodes and verifies over keys from a codebook, in triton's interpreter.

Each release is loaded once, and plays all scenes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.patches.catalog import catalog
from tests.catalog.forge import linked, plan_on

CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
BACKEND = "vllm/v1/attention/backends/turboquant_attn.py"
STAND_INS = Path(__file__).parents[1] / "catalog"
TREES = {path.parents[4].name: path.parents[4] for path in sorted(CACHE.glob(f"trees/vllm*/{BACKEND}"))}
FORMS = ("-0.24.0", "-0.25.1", "-0.26.0", "-0.33.0")
SERVED = {
    "together": ({"k8v4": 64, "4bit_nc": 64, "k3v4_nc": 128}, ""),
    "laid otherwise": ({"4bit_nc": 128}, "laid otherwise"),
}
"""Kinds of caches with the head_dim of their layers, and what is odd about them."""
ASIDE = {
    "values of 3 bits": (("3bit_nc", 64, ""), "of 3-bit keys and 3-bit values: 4bit_nc and k3v4_nc are served"),
    "plain": (("4bit_nc", 64, "plain"), "a backend that takes a key's entries as they are"),
    "lopsided": (("4bit_nc", 64, "lopsided"), "a codebook that is not the same below and above zero"),
    "no codebook": (("4bit_nc", 64, "no codebook"), "a backend that tells no codebook or no rotation: get_centroids"),
    "wrong": (("k3v4_nc", 64, "wrong"), "it answers wrong here (tq_codebook, 1 x 1 query tokens): error 1.0e-01"),
    "a window": (("4bit_nc", 64, "window"), "a sliding window of 8"),
    "padded by halves": (("k3v4_nc", 64, "padded by halves"), "pages must be multiples of 4 apart"),
    "a head_dim of 96": (("4bit_nc", 96, ""), "head_dim 96: 64, 128, 256, 512 are served"),
    "a head_dim of 80": (("k3v4_nc", 80, ""), "head_dim 80: 64, 128, 256, 512 are served"),
}
"""A layer's kind of cache, its head_dim, what is odd about it, and the reason that is told."""


@pytest.fixture(scope="module", params=[name for name in TREES if name.endswith(FORMS)])
def seen(request):
    """What happens in a release's tree with the patch in it."""
    patch = next(one for one in catalog() if one.id == "P67")
    tree, target = TREES[request.param], CACHE / "work" / f"codebook-{os.getpid()}-{request.param}"
    scenes = SERVED | {name: ({kind: dim}, odd) for name, ((kind, dim, odd), _) in ASIDE.items()}
    try:
        path = [str(linked(tree, target, plan_on(tree, [patch]).texts)), str(STAND_INS), *sys.path]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", Path(__file__).with_name("codebook_in_engine.py"), json.dumps(scenes)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "TRITON_INTERPRET": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        yield json.loads(done.stdout.splitlines()[-1])
    finally:
        shutil.rmtree(target, ignore_errors=True)


@pytest.mark.parametrize("scene", SERVED)
def test_the_backend_attends_by_the_kernel(seen, scene):
    """Over what the engine's own store wrote, as plain steps and the engine's kernel do: a launch decodes, one verifies.

    It was tried over a cache that lies so, all that a batch may be cut to was compiled, and nothing is allocated or
    moved: layers with keys of FP8 use the same memory in turn.
    """
    kinds, found = list(SERVED[scene][0]), seen[scene]
    assert found == {
        "launched": [[kind, new] for new in (1, 3) for kind in kinds],
        "wrong": [],
        "unlike_the_engine": [],
        "skips": [],
        "compiled": kinds,
        "tried": kinds,
        "allocated": [],
        "graphs": ["UNIFORM_BATCH"],
        "stayed": True,
        "memory": ["factors", "lse", "out", "part", "turned"],
    }, found.get("raised", found)


@pytest.mark.parametrize("scene", ASIDE)
def test_what_is_not_served_stays_with_the_engine(seen, scene):
    """For a reason that is told, once; nothing is raised, no memory taken, and no graph captured with drafts in it."""
    found = seen[scene]
    assert "raised" not in found, found["raised"]
    assert (found["launched"], found["memory"], found["graphs"]) == ([], [], ["UNIFORM_SINGLE_TOKEN_DECODE"])
    assert [ASIDE[scene][1] in reason for reason in found["skips"]] == [True], found["skips"]
