"""Cases made flesh: random inputs in caches as the engine lays them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from genesisd.kernels import batches
from genesisd.kernels.tq_codebook.cases import Case
from genesisd.kernels.tq_codebook.codebook import gaussian, hadamard, tables_of
from genesisd.kernels.tq_codebook.layout import KEY_BITS, layout_of
from genesisd.kernels.tq_codebook.pack import slots

APART = 64
"""Bytes between pages that are padded; they are not a number, whatever is read from them."""


@dataclass
class Problem(batches.Batch):
    """The arguments of tq_codebook and of its reference, fresh random ones."""

    case: Case
    codebook: torch.Tensor
    rotation: torch.Tensor
    tables: torch.Tensor

    def named(self) -> dict[str, Any]:
        """What the operation takes by name; its reference takes the codebook in place of `tables`."""
        return {"kind": self.case.kind, "tables": self.tables, "rotation": self.rotation, "scale": self.scale}


def make(case: Case, device: str, seed: int, spare: int = 1, dtype: torch.dtype = torch.bfloat16) -> Problem:
    """Random inputs; pages in random order out of `spare` times as many; what no token fills is random too."""
    generator = torch.Generator(device=device).manual_seed(seed)
    codebook, rotation = gaussian(case.dim, KEY_BITS[case.kind]), hadamard(case.dim).to(device)
    tables, book = tables_of(codebook).to(device), codebook.to(device)
    cache = _empty(case, sum(batches.pages_of(case)) * spare, device)
    batches.fill(cache, case, generator, lambda keys, values: slots(keys, values, case.kind, book, rotation))
    table = batches.table_over(len(cache), case, generator)
    query = batches.query_of(case, generator, dtype)
    return Problem(case, query, cache, table, *batches.lens_and_starts(case, device), book, rotation, tables)


def _empty(case: Case, pages: int, device: str) -> torch.Tensor:
    places = (case.kv_heads, case.page) if case.by_heads else (case.page, case.kv_heads)
    slot = layout_of(case.kind, case.dim).slot_bytes
    size = slot * case.page * case.kv_heads
    whole = torch.full((pages, size + APART * case.padded), 0xFF, dtype=torch.uint8, device=device)
    cache = whole[:, :size].unflatten(1, (*places, slot))
    return cache.transpose(1, 2) if case.by_heads else cache
