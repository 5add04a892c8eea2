"""Batches of sequences over a paged cache, drawn at random: what the attention over every kind of cache is tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

AT_ONCE = 4096
"""Pages whose keys and values are drawn at once: before they are packed they are several times as large."""
NOWHERE = 2**30
"""What stands in a page table behind a sequence's last page: who reads it reads outside of the cache."""


@dataclass
class Batch:
    """What an operation attends to. A subclass says what else its kind of cache takes."""

    case: Any
    query: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor

    @property
    def scale(self) -> float:
        return self.case.dim**-0.5

    @property
    def max_query_len(self) -> int:
        return max(self.case.query_lens)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.query, self.cache, self.table, self.lens, self.starts


def pages_of(case: Any) -> list[int]:
    """How many pages each sequence has: one at least."""
    return [max(1, -(-length // case.page)) for length in case.lens]


def fill(
    cache: torch.Tensor,
    case: Any,
    generator: torch.Generator,
    slots: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> None:
    """Random keys and values, packed by ``slots``, in all of a cache; what no token fills is random too."""
    for first in range(0, len(cache), AT_ONCE):
        size = (min(AT_ONCE, len(cache) - first), case.page, case.kv_heads, case.dim)
        keys = torch.randn(size, device=cache.device, generator=generator) * case.key_scale
        values = torch.randn(size, device=cache.device, generator=generator) * case.value_scale
        cache[first : first + AT_ONCE] = slots(keys, values)


def table_over(pages: int, case: Any, generator: torch.Generator) -> torch.Tensor:
    """Each sequence's pages, out of so many in random order."""
    needed = pages_of(case)
    order = torch.randperm(pages, device=generator.device, generator=generator).to(torch.int32)
    table = torch.full((len(needed), max(needed)), NOWHERE, dtype=torch.int32, device=generator.device)
    for sequence, count in enumerate(needed):
        table[sequence, :count] = order[sum(needed[:sequence]) :][:count]
    return table


def query_of(case: Any, generator: torch.Generator, dtype: torch.dtype) -> torch.Tensor:
    """All sequences' query tokens, one after another."""
    tokens = sum(case.query_lens)
    return torch.randn(tokens, case.heads, case.dim, device=generator.device, generator=generator).to(dtype)


def lens_and_starts(case: Any, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """How many tokens each sequence has in the cache, and where its query tokens begin."""
    starts = [sum(case.query_lens[:sequence]) for sequence in range(len(case.query_lens) + 1)]
    return tuple(torch.tensor(found, dtype=torch.int32, device=device) for found in (case.lens, starts))
