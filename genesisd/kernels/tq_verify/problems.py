"""Cases made flesh: random inputs, in the cache or in a tail beside it."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from genesisd.kernels import batches
from genesisd.kernels.tq_verify.cases import Case
from genesisd.kernels.tq_verify.layout import K8V4
from genesisd.kernels.tq_verify.pack import slots
from genesisd.kernels.trying import error

__all__ = ["Problem", "by_heads", "error", "make", "unwrite"]


@dataclass
class Problem(batches.Batch):
    """A case made flesh: the arguments of tq_verify, fresh random ones."""

    case: Case
    tail: dict[str, torch.Tensor] = field(default_factory=dict)
    """tq_verify's tail_key and tail_value, or nothing."""


def make(
    case: Case,
    device: str,
    seed: int,
    spare: int = 1,
    dtype: torch.dtype = torch.bfloat16,
    *,
    written: bool = False,
) -> Problem:
    """Random inputs; pages in random order out of `spare` times as many; what no token fills is random too.

    Slots of tokens that come as a tail hold what is not a number, unless they are ``written``: as other pages than
    the table's last they would be read.
    """
    generator = torch.Generator(device=device).manual_seed(seed)
    shape = (sum(batches.pages_of(case)) * spare, case.page, case.kv_heads, K8V4(case.dim).slot_bytes)
    cache = torch.empty(shape, dtype=torch.uint8, device=device)
    batches.fill(cache, case, generator, lambda keys, values: slots(keys, values, case.fp8_format))
    table = batches.table_over(len(cache), case, generator)
    query = batches.query_of(case, generator, dtype)
    if case.by_heads:
        cache = by_heads(cache)
    made = Problem(case, query, cache, table, *batches.lens_and_starts(case, device))
    if case.tail:
        for name, size in (("tail_key", case.key_scale), ("tail_value", case.value_scale)):
            rows = torch.randn(len(query), case.kv_heads, case.dim, device=device, generator=generator) * size
            made.tail[name] = rows.to(dtype)
    if case.tail and not written:
        unwrite(made)
    return made


def by_heads(cache: torch.Tensor) -> torch.Tensor:
    """The same cache laid out as some of the engine's releases do: a head's tokens of a page follow each other."""
    return cache.transpose(1, 2).contiguous().transpose(1, 2)


def unwrite(problem: Problem) -> None:
    """Fill the slots of all query tokens with what is not a number."""
    page = problem.case.page
    for sequence, (length, count) in enumerate(zip(problem.case.lens, problem.case.query_lens, strict=True)):
        for position in range(max(length - count, 0), length):
            problem.cache[problem.table[sequence, position // page].long(), position % page] = 0xFF
