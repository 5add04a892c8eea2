"""Keys and values into cache bytes, in plain steps: what the backend's own store writes."""

from __future__ import annotations

import torch

from genesisd.kernels.tq_codebook.layout import layout_of
from genesisd.kernels.tq_verify.pack import value_bytes


def packed(indexes: torch.Tensor, bits: int) -> torch.Tensor:
    """[..., n] indexes to [..., n * bits / 8] bytes, from the lowest bit up; n is a multiple of 8."""
    groups = indexes.to(torch.int64).unflatten(-1, (-1, 8)) << (torch.arange(8, device=indexes.device) * bits)
    whole = groups.sum(-1, keepdim=True)
    return ((whole >> (torch.arange(bits, device=indexes.device) * 8)) & 255).to(torch.uint8).flatten(-2)


def key_bytes(keys: torch.Tensor, codebook: torch.Tensor, rotation: torch.Tensor, bits: int) -> torch.Tensor:
    """Keys (float32) brought to unit length, rotated, and each number replaced by the nearest entry; then the length."""
    norm = keys.norm(dim=-1, keepdim=True)
    turned = keys / (norm + 1e-8) @ rotation
    indexes = torch.bucketize(turned, (codebook[1:] + codebook[:-1]) / 2, right=True)
    return torch.cat([packed(indexes, bits), norm.to(torch.float16).view(torch.uint8)], -1)


def slots(
    keys: torch.Tensor, values: torch.Tensor, kind: str, codebook: torch.Tensor, rotation: torch.Tensor
) -> torch.Tensor:
    """[..., head_dim] keys and values to [..., slot bytes]."""
    bits = layout_of(kind, keys.shape[-1]).key_bits
    return torch.cat([key_bytes(keys.float(), codebook, rotation, bits), value_bytes(values.float())], -1)
