"""The codebook as the kernel wants it, and one to test with."""

from __future__ import annotations

import math

import torch

from genesisd.kernels.tq_codebook.guards import codebook_refusal


def tables_of(codebook: torch.Tensor) -> torch.Tensor:
    """The first eight entries as float16, their upper bytes before their lower ones: 16 bytes. Once, at loading.

    A key's entries are scaled to unit length, so the codebook's own scale counts for nothing: the largest is made 1.

    Raises:
        ValueError: the codebook is not one that the kernel can read, with the reason.
    """
    reason = codebook_refusal(codebook.tolist(), len(codebook).bit_length() - 1)
    if reason is not None:
        raise ValueError(reason)
    halves = (codebook[:8].double() / codebook.double().abs().max()).to(torch.float16).view(torch.uint8)
    return torch.cat([halves[1::2], halves[::2]]).contiguous()


def gaussian(head_dim: int, bits: int) -> torch.Tensor:
    """The entries that lose least of normal numbers of variance 1 / head_dim, as the engine's are chosen, as float32."""
    count = 2**bits
    levels = torch.linspace(-2.5, 2.5, count, dtype=torch.float64)
    for _ in range(2000):
        ends = torch.tensor([-math.inf, *((levels[1:] + levels[:-1]) / 2).tolist(), math.inf], dtype=torch.float64)
        density = torch.exp(-ends.square() / 2) / math.sqrt(2 * math.pi)
        below = (1 + torch.erf(ends / math.sqrt(2))) / 2
        levels = (density[:-1] - density[1:]) / (below[1:] - below[:-1])
    return ((levels - levels.flip(0)) / 2 / math.sqrt(head_dim)).float()


def hadamard(head_dim: int) -> torch.Tensor:
    """The engine's rotation: rows and columns i, j of sign (-1)^(bits that both have), scaled to be orthonormal."""
    i = torch.arange(head_dim)
    common = i[:, None] & i[None, :]
    odd = sum((common >> bit) & 1 for bit in range(head_dim.bit_length())) % 2
    return (1 - 2 * odd).float() / math.sqrt(head_dim)
