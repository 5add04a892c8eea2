"""Cases made flesh: random inputs, and weights as they were loaded."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from genesisd.kernels.lm_head_fp8.cases import Case
from genesisd.kernels.lm_head_fp8.quantise import quantise

AT_ONCE = 8192


@dataclass
class Problem:
    """The arguments of lm_head_fp8, fresh random ones, and what the weights were before they were quantised."""

    case: Case
    x: torch.Tensor
    weight: torch.Tensor
    scales: torch.Tensor
    whole: torch.Tensor

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.x, self.weight, self.scales


def make(case: Case, device: str, seed: int) -> Problem:
    """Random inputs. Channels differ in size by up to 100 times, so that a wrong scale shows."""
    generator = torch.Generator(device=device).manual_seed(seed)
    x = torch.randn(case.rows, case.hidden, device=device, generator=generator) * case.size
    whole = torch.empty(case.channels, case.hidden, dtype=torch.bfloat16, device=device)
    for first in range(0, case.channels, AT_ONCE):
        part = torch.randn(whole[first : first + AT_ONCE].shape, device=device, generator=generator)
        sizes = 100 ** (torch.rand(part.shape[0], 1, device=device, generator=generator) - 1)
        whole[first : first + AT_ONCE] = part * sizes
    if case.weights == "outlier":
        whole[:, 7] = whole.abs().amax(1) * 2**15
        x[:, 7] = 0
    if case.weights == "zero":
        whole[::3] = 0
    return Problem(case, x.to(getattr(torch, case.activations)), *quantise(whole), whole)
