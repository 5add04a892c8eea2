"""Cases made flesh: random inputs and a cache full of random bytes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from genesisd.kernels.tq_store.cases import Case
from genesisd.kernels.tq_verify.layout import K8V4

OTHERS = 3
"""Heads before the keys where they lie in a wider tensor."""


@dataclass
class Problem:
    """The arguments of tq_store, fresh random ones."""

    case: Case
    key: torch.Tensor
    value: torch.Tensor
    cache: torch.Tensor
    slot_mapping: torch.Tensor

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.key, self.value, self.cache, self.slot_mapping


def make(case: Case, device: str, seed: int) -> Problem:
    """Random keys and values, slots in random order out of half as many again."""
    generator = torch.Generator(device=device).manual_seed(seed)
    heads = 2 * case.heads + (OTHERS if case.wide else 0)
    both = torch.randn(case.tokens, heads, case.dim, device=device, generator=generator) * case.size
    if case.values == "alike":
        both = both[..., :1].expand_as(both).contiguous()
    if case.values == "few":
        both = (both * 8).round() / 8
    both = both.to(getattr(torch, case.activations))
    key, value = both[:, -2 * case.heads : -case.heads], both[:, -case.heads :]
    if not case.wide:
        key, value = key.contiguous(), value.contiguous()
    pages = 1 + -(-case.tokens * 3 // (2 * case.page))
    slots = torch.randperm(pages * case.page, device=device, generator=generator)[: case.tokens]
    if case.skipped != "none":
        slots[:: 1 if case.skipped == "all" else 4] = -1
    return Problem(case, key, value, _cache(case, pages, device, generator), slots.to(getattr(torch, case.slots)))


def _cache(case: Case, pages: int, device: str, generator: torch.Generator) -> torch.Tensor:
    shape = (pages, case.page, case.heads, K8V4(case.dim).slot_bytes)
    apart = 64 if case.padded else 0
    whole = torch.randint(256, (pages, shape[1] * shape[2] * shape[3] + apart), device=device, generator=generator)
    whole = whole.to(torch.uint8)
    return whole[:, : whole.shape[1] - apart].unflatten(1, shape[1:])
