"""What tq_store writes, in plain steps: the slots that the tests of the whole cache are made of, at their places."""

from __future__ import annotations

import torch

from genesisd.kernels.tq_verify.pack import slots


def reference(
    key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slot_mapping: torch.Tensor, fp8_format: str = "e4nv"
) -> torch.Tensor:
    """The cache after the store, a copy: as launch.tq_store, a token at a time."""
    cache = cache.clone()
    page = cache.shape[1]
    for token, slot in enumerate(slot_mapping.tolist()):
        if slot >= 0:
            cache[slot // page, slot % page] = slots(key[token], value[token], fp8_format)
    return cache
