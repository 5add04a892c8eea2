"""What lm_head_fp8 computes, in float64 and plain steps."""

from __future__ import annotations

import torch


def reference(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, at_once: int = 8192) -> torch.Tensor:
    """[rows, hidden] activations times [channels, hidden] e4m3 weights and their scales, some channels at a time."""
    parts = []
    for first in range(0, weight.shape[0], at_once):
        numbers = weight[first : first + at_once].double() * scales[first : first + at_once].double()[:, None]
        parts.append(x.double() @ numbers.T)
    return torch.cat(parts, 1)
