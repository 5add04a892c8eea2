"""A release's own backend with PN530 in it stores by the kernel itself, in triton's interpreter."""

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

from genesisd.kernels.tq_store import cases, problems
from genesisd.kernels.tq_store.reference import reference
from genesisd.patches.catalog import catalog
from tests.catalog.forge import linked, plan_on

CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
BACKEND = "vllm/v1/attention/backends/turboquant_attn.py"
TREES = {path.parents[4].name: path.parents[4] for path in sorted(CACHE.glob(f"trees/vllm*/{BACKEND}"))}
FORMS = ("-0.24.0", "-0.26.0", "-0.32.0", "-0.33.0")
"""Releases whose backends lay the cache out, or call the store, each in a way of its own; 0.32 is the pin's."""
RUN = """
import json
import sys

import torch
from vllm.model_executor.layers.quantization.turboquant.config import TurboQuantConfig
from vllm.v1.attention.backends import turboquant_attn as backend

given = torch.load(sys.argv[1])
key, value, cache, slots = given
backend._use_fp8_e4b15 = lambda _device: False
backend.triton_turboquant_store = None  # the engine's own is not to be called
impl = object.__new__(backend.TurboQuantAttentionImpl)
impl.num_kv_heads, impl.head_size = key.shape[1:]
impl.tq_config = TurboQuantConfig.from_cache_dtype("turboquant_k8v4", impl.head_size)
impl._soa_store, impl._ensure_on_device = False, lambda *_: None
heads_first = "kv_cache.transpose(1, 2)" in open(backend.__file__).read()
cache = cache.transpose(1, 2).contiguous() if heads_first else cache
flat = [one.reshape(len(one), -1) for one in (key, value)]
impl.do_kv_cache_update(torch.nn.Module(), *flat, cache, slots)
torch.save(cache.transpose(1, 2).contiguous() if heads_first else cache, sys.argv[2])
print(json.dumps([backend.__file__, backend.genesis_store._genesis_skips]))
"""


@pytest.mark.parametrize("tree", [name for name in TREES if name.endswith(FORMS)])
def test_the_backend_stores_by_the_kernel(tree, tmp_path):
    """All that the build carries is there, and the bytes in the cache are right, whichever way it lies."""
    patch = next(one for one in catalog() if one.id == "PN530")
    target = CACHE / "work" / f"store-{os.getpid()}-{tree}"
    problem = problems.make(cases.Case("x", 40, 2, 64, wide=True), "cpu", seed=5)
    torch.save(problem.arguments(), tmp_path / "given")
    try:
        path = [str(linked(TREES[tree], target, plan_on(TREES[tree], [patch]).texts)), *sys.path]
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", RUN, tmp_path / "given", tmp_path / "cache"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(path), "TRITON_INTERPRET": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert json.loads(done.stdout.splitlines()[-1]) == [str(target / BACKEND), {"PN530": {}}]
        assert torch.equal(torch.load(tmp_path / "cache"), reference(*problem.arguments()))
    finally:
        shutil.rmtree(target, ignore_errors=True)
