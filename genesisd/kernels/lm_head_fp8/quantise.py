"""The layer's weights as FP8 numbers with a scale a channel, made once when they are loaded."""

from __future__ import annotations

import torch

GREATEST = 448.0
"""The greatest number of e4m3."""
AT_ONCE = 4096
"""Channels that are converted at once: in float32 all of them would take four times the layer's memory."""


def quantise(weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[channels, hidden] weights to e4m3 numbers of the same shape and [channels] float32 scales.

    A weight w becomes q * scale with |q * scale - w| at most |w| / 16, or scale / 1024 where that is more: half a step
    of three bits of mantissa, or of the subnormals. A channel's greatest weight is kept to within float32's rounding.
    """
    bytes_ = torch.empty(weight.shape, dtype=torch.float8_e4m3fn, device=weight.device)
    scales = torch.empty(weight.shape[0], dtype=torch.float32, device=weight.device)
    for first in range(0, weight.shape[0], AT_ONCE):
        part = weight[first : first + AT_ONCE].float()
        scale = (part.abs().amax(1) / GREATEST).clamp(min=torch.finfo(torch.float32).tiny)
        scaled = (part / scale[:, None]).clamp(-GREATEST, GREATEST)
        bytes_[first : first + AT_ONCE] = scaled.to(torch.float8_e4m3fn)
        scales[first : first + AT_ONCE] = scale
    return bytes_, scales


def bound(weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The most that each weight may be off, with float32's rounding of the division on top."""
    half_step = torch.maximum(weight.double().abs() / 16, scales.double()[:, None] / 1024)
    return half_step * (1 + 2**-18)
