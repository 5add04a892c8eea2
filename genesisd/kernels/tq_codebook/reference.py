"""What tq_codebook computes, in float64 and plain steps."""

from __future__ import annotations

import torch

from genesisd.kernels.tq_codebook.layout import layout_of
from genesisd.kernels.tq_verify.reference import attend, values_of


def indexes_of(raw: torch.Tensor, bits: int) -> torch.Tensor:
    """Packed indexes as int64, bit by bit."""
    each = (raw.to(torch.int64)[..., None] >> torch.arange(8, device=raw.device)) & 1
    return (each.flatten(-2).unflatten(-1, (-1, bits)) << torch.arange(bits, device=raw.device)).sum(-1)


def keys_of(raw: torch.Tensor, codebook: torch.Tensor, bits: int) -> torch.Tensor:
    """Stored keys as float64, still rotated: their entries at unit length, times the norm."""
    entries = codebook.double()[indexes_of(raw[..., :-2], bits)]
    norm = raw[..., -2:].contiguous().view(torch.float16).double()
    return entries / entries.norm(dim=-1, keepdim=True) * norm


def reference(
    query: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    lens: torch.Tensor,
    starts: torch.Tensor,
    *,
    kind: str,
    codebook: torch.Tensor,
    rotation: torch.Tensor,
    scale: float,
) -> torch.Tensor:
    """As launch.tq_codebook, float64, a sequence at a time. A query is rotated as keys were: products stay the same."""
    layout = layout_of(kind, query.shape[2])
    turned = query.double() @ rotation.double()
    outs = [torch.empty_like(turned[:0])]
    for sequence, length in enumerate(lens.tolist()):
        pages = table[sequence][: -(-length // cache.shape[1])].long()
        held = cache[pages].flatten(0, 1)[:length]
        keys = keys_of(held[..., : layout.key_bytes], codebook, layout.key_bits)
        values = values_of(held[..., layout.key_bytes :], query.shape[2])
        outs.append(attend(turned[starts[sequence] : starts[sequence + 1]], keys, values, scale))
    return torch.cat(outs)
