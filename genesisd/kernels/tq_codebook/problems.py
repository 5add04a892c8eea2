"""Cases made flesh: random inputs in caches as the engine lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from genesisd.kernels.tq_codebook.cases import Case
from genesisd.kernels.tq_codebook.codebook import gaussian, hadamard, tables_of
from genesisd.kernels.tq_codebook.layout import KEY_BITS, layout_of
from genesisd.kernels.tq_codebook.pack import slots

APART = 64
"""Bytes between pages that are padded; they are not a number, whatever is read from them."""


@dataclass
class Problem:
    """The arguments of tq_codebook and of its reference, fresh random ones."""

    case: Case
    query: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor
    codebook: torch.Tensor
    rotation: torch.Tensor
    tables: torch.Tensor

    @property
    def scale(self) -> float:
        return self.case.dim**-0.5

    @property
    def max_query_len(self) -> int:
        return max(self.case.query_lens)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.query, self.cache, self.table, self.lens, self.starts

    def named(self) -> dict[str, Any]:
        """What the operation takes by name; its reference takes the codebook in place of `tables`."""
        return {"kind": self.case.kind, "tables": self.tables, "rotation": self.rotation, "scale": self.scale}


def make(case: Case, device: str, seed: int, spare: int = 1, dtype: torch.dtype = torch.bfloat16) -> Problem:
    """Random inputs; pages in random order out of `spare` times as many; what no token fills is random too."""
    generator = torch.Generator(device=device).manual_seed(seed)
    codebook, rotation = gaussian(case.dim, KEY_BITS[case.kind]), hadamard(case.dim).to(device)
    needed = [max(1, -(-length // case.page)) for length in case.lens]
    pages = sum(needed) * spare
    cache = _empty(case, pages, device)
    for first in range(0, pages, 4096):
        size = (min(4096, pages - first), case.page, case.kv_heads, case.dim)
        keys = torch.randn(size, device=device, generator=generator) * case.key_scale
        values = torch.randn(size, device=device, generator=generator) * case.value_scale
        cache[first : first + 4096] = slots(keys, values, case.kind, codebook.to(device), rotation)
    order = torch.randperm(pages, device=device, generator=generator).to(torch.int32)
    table = torch.full((len(needed), max(needed)), 2**30, dtype=torch.int32, device=device)
    for sequence, count in enumerate(needed):
        table[sequence, :count] = order[sum(needed[:sequence]) :][:count]
    query = torch.randn(sum(case.query_lens), case.heads, case.dim, device=device, generator=generator).to(dtype)
    starts = torch.tensor([0, *torch.tensor(case.query_lens).cumsum(0).tolist()], dtype=torch.int32, device=device)
    lens = torch.tensor(case.lens, dtype=torch.int32, device=device)
    tables = tables_of(codebook).to(device)
    return Problem(case, query, cache, table, lens, starts, codebook.to(device), rotation, tables)


def _empty(case: Case, pages: int, device: str) -> torch.Tensor:
    places = (case.kv_heads, case.page) if case.by_heads else (case.page, case.kv_heads)
    slot = layout_of(case.kind, case.dim).slot_bytes
    size = slot * case.page * case.kv_heads
    whole = torch.full((pages, size + APART * case.padded), 0xFF, dtype=torch.uint8, device=device)
    cache = whole[:, :size].unflatten(1, (*places, slot))
    return cache.transpose(1, 2) if case.by_heads else cache
