"""The engine's own store and attention, out of a release's tree, as its backend calls them."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import torch

from genesisd.kernels.tq_codebook.layout import layout_of
from genesisd.kernels.tq_codebook.problems import Problem
from genesisd.kernels.tq_verify import upstream
from genesisd.kernels.upstreams import each_token


class Upstream:
    """The launchers of the tree, beside the stand-ins that the kernel of FP8 keys needs too."""

    def __init__(self, tree: Path, device: str = "cuda") -> None:
        self.decode = upstream.Upstream(tree).decode
        self.stores = importlib.import_module("vllm.v1.attention.ops.triton_turboquant_store")
        self.decodes = importlib.import_module("vllm.v1.attention.ops.triton_turboquant_decode")
        self.device = device
        if device == "cpu":  # both ask the device for the format of FP8 keys, of which there are none
            for module in (self.stores, self.decodes):
                vars(module)["_use_fp8_e4b15"] = lambda _device: 0

    def store(self, problem: Problem, key: torch.Tensor, value: torch.Tensor, slot_mapping: torch.Tensor) -> None:
        """Keys and values into the problem's cache, which must lie as one piece."""
        layout = layout_of(problem.case.kind, problem.case.dim)
        book = problem.codebook
        self.stores.triton_turboquant_store(
            key, value, problem.cache, slot_mapping, problem.rotation, (book[1:] + book[:-1]) / 2,
            mse_bits=layout.key_bits, key_packed_size=layout.key_bytes, value_quant_bits=4,
        )  # fmt: skip

    def fill(self, problem: Problem) -> None:
        """New keys and values in all of the problem's cache."""
        pages, page, heads, _ = problem.cache.shape
        both = torch.randn(2, pages * page, heads, problem.case.dim, device=self.device)
        self.store(problem, both[0], both[1], torch.arange(pages * page, dtype=torch.int32, device=self.device))

    def attention(self, problem: Problem) -> torch.Tensor:
        """The kernel as the backend runs it: each query token as a row of its own, with its own length."""
        return self.prepared([problem])(0)

    def prepared(self, turns: list[Problem]) -> Callable[[int], torch.Tensor]:
        """One run of theirs, the rotation of the query included; all sequences have the same number of query tokens."""
        one = turns[0]
        layout = layout_of(one.case.kind, one.case.dim)
        rows, lens = each_token([turn.table for turn in turns], one.lens, one.case.query_lens[0])
        tokens, heads, dim = one.query.shape
        middle = torch.empty(tokens, heads, 32, dim + 1, device=self.device)
        out, sums = torch.empty_like(one.query), torch.empty(tokens, heads, device=self.device)

        def run(i: int) -> torch.Tensor:
            return self.decode(
                one.query, one.cache, rows[i % len(rows)], lens, one.rotation, one.codebook, one.scale,
                layout.key_bits, layout.key_bytes, 4, norm_correction=True, PiT=one.rotation,
                mid_o_buf=middle, output_buf=out, lse_buf=sums, max_num_kv_splits=32,
            )  # fmt: skip

        return run
