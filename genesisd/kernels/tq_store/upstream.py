"""The engine's own store, out of a release's tree, as its backend calls it."""

from __future__ import annotations

import importlib
from pathlib import Path

import torch

from genesisd.kernels.tq_verify import upstream


class Upstream:
    """The launcher of the tree, beside the stand-ins that the kernel for decoding needs too."""

    def __init__(self, tree: Path, device: str = "cuda") -> None:
        upstream.Upstream(tree)
        self.module = importlib.import_module("vllm.v1.attention.ops.triton_turboquant_store")
        self._none = torch.zeros(16, device=device)

    def store(self, key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slot_mapping: torch.Tensor) -> None:
        """Keys and values that do not follow each other are copied first, as in the backend."""
        if key.shape[0]:
            self.module.triton_turboquant_store(
                key, value, cache, slot_mapping, self._none, self._none,
                mse_bits=4, key_packed_size=key.shape[2], value_quant_bits=4, key_fp8=True,
            )  # fmt: skip
