"""The engine's own kernel, out of a release's tree, for the benchmark to compare with."""

from __future__ import annotations

import importlib
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Callable

import torch

from genesisd.kernels.tq_verify.problems import Problem
from genesisd.kernels.upstreams import each_token

FILES = ("triton_turboquant_decode.py", "triton_turboquant_store.py", "triton_decode_attention.py")
STAND_INS = {
    "platforms": "class Platform:\n    def is_cuda_alike(self): return True\n    def is_cuda(self): return True\n"
    "    def __getattr__(self, name): return lambda *a, **k: False\ncurrent_platform = Platform()\n",
    "triton_utils": "import triton\nimport triton.language as tl\nHAS_TRITON = True\n",
}


class Upstream:
    """Three files of the tree beside stand-ins for the two modules that they import."""

    def __init__(self, tree: pathlib.Path) -> None:
        root = pathlib.Path(tempfile.mkdtemp())
        ops = root / "vllm/v1/attention/ops"
        ops.mkdir(parents=True)
        for package in ("vllm", "vllm/v1", "vllm/v1/attention", "vllm/v1/attention/ops"):
            (root / package / "__init__.py").write_text("")
        for name in FILES:
            shutil.copy(tree / "vllm/v1/attention/ops" / name, ops)
        for name, text in STAND_INS.items():
            (root / "vllm" / f"{name}.py").write_text(text)
        sys.path.insert(0, str(root))
        module = importlib.import_module("vllm.v1.attention.ops.triton_turboquant_decode")
        self.decode = module.triton_turboquant_decode_attention

    def prepared(self, problem: Problem, tables: list[torch.Tensor]) -> Callable[[int], torch.Tensor]:
        """The kernel as the backend runs it: each query token as a row of its own, with its own length."""
        case = problem.case
        rows, lens = each_token(tables, problem.lens, case.query_lens[0])
        tokens, heads, dim = problem.query.shape
        device = problem.query.device
        eye, none = torch.eye(dim, device=device), torch.zeros(16, device=device)
        middle = torch.empty(tokens, heads, 32, dim + 1, device=device)
        out, sums = torch.empty_like(problem.query), torch.empty(tokens, heads, device=device)

        def run(i: int) -> torch.Tensor:
            return self.decode(
                problem.query, problem.cache, rows[i % len(rows)], lens, eye, none, problem.scale, 4, dim, 4,
                key_fp8=True, mid_o_buf=middle, output_buf=out, lse_buf=sums, max_num_kv_splits=32,
            )  # fmt: skip

        return run
