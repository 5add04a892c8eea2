"""How two caches differ, in the words of their layout."""

from __future__ import annotations

import torch

from genesisd.kernels.tq_verify.layout import K8V4


def difference(found: torch.Tensor, expected: torch.Tensor, head_dim: int, ties: float = 0.0) -> str | None:
    """What differs, or None. Of the nibbles a share of ``ties`` may be off by one, and scales by their last bit."""
    keys, last = K8V4(head_dim).key_bytes, K8V4(head_dim).slot_bytes - 4
    wrong = int((found[..., :keys] != expected[..., :keys]).sum())
    if wrong:
        return f"{wrong} key bytes differ"
    if not torch.equal(found[..., last + 2 :], expected[..., last + 2 :]):
        return "zeros differ"
    scales = (_halves(found[..., last : last + 2]) - _halves(expected[..., last : last + 2])).abs()
    if scales.numel() and scales.max() > (1 if ties else 0):
        return f"scales differ by {scales.max()} of their last bits"
    nibbles = (_nibbles(found[..., keys:last]) - _nibbles(expected[..., keys:last])).abs()
    if nibbles.numel() and (nibbles.max() > 1 or (nibbles != 0).double().mean() > ties):
        return f"{int((nibbles != 0).sum())} of {nibbles.numel()} values differ, by up to {nibbles.max()}"
    return None


def _halves(raw: torch.Tensor) -> torch.Tensor:
    return raw[..., 0].int() | (raw[..., 1].int() << 8)


def _nibbles(raw: torch.Tensor) -> torch.Tensor:
    return torch.cat([raw & 15, raw >> 4], -1).int()
