"""Cases made flesh: random inputs, and how far an output is from what was expected."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from genesisd.kernels.tq_verify.cases import Case
from genesisd.kernels.tq_verify.layout import K8V4
from genesisd.kernels.tq_verify.pack import slots


@dataclass
class Problem:
    """A case made flesh: the arguments of tq_verify, fresh random ones."""

    case: Case
    query: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor
    tail: dict[str, torch.Tensor] = field(default_factory=dict)
    """tq_verify's tail_key and tail_value, or nothing."""

    @property
    def scale(self) -> float:
        return self.case.dim**-0.5

    @property
    def max_query_len(self) -> int:
        return max(self.case.query_lens)

    def arguments(self) -> tuple[torch.Tensor, ...]:
        return self.query, self.cache, self.table, self.lens, self.starts


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
    needed = [max(1, -(-length // case.page)) for length in case.lens]
    pages = sum(needed) * spare
    cache = torch.empty(pages, case.page, case.kv_heads, K8V4(case.dim).slot_bytes, dtype=torch.uint8, device=device)
    for first in range(0, pages, 4096):
        count = min(4096, pages - first)
        size = (count, case.page, case.kv_heads, case.dim)
        keys = torch.randn(size, device=device, generator=generator) * case.key_scale
        values = torch.randn(size, device=device, generator=generator) * case.value_scale
        cache[first : first + count] = slots(keys, values, case.fp8_format)
    order = torch.randperm(pages, device=device, generator=generator).to(torch.int32)
    table = torch.full((len(needed), max(needed)), 2**30, dtype=torch.int32, device=device)
    for sequence, count in enumerate(needed):
        table[sequence, :count] = order[sum(needed[:sequence]) :][:count]
    tokens = sum(case.query_lens)
    query = torch.randn(tokens, case.heads, case.dim, device=device, generator=generator).to(dtype)
    starts = torch.tensor([0, *torch.tensor(case.query_lens).cumsum(0).tolist()], dtype=torch.int32, device=device)
    if case.by_heads:
        cache = by_heads(cache)
    lens = torch.tensor(case.lens, dtype=torch.int32, device=device)
    made = Problem(case, query, cache, table, lens, starts)
    if case.tail:
        for name, size in (("tail_key", case.key_scale), ("tail_value", case.value_scale)):
            rows = torch.randn(tokens, case.kv_heads, case.dim, device=device, generator=generator) * size
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


def error(out: torch.Tensor, expected: torch.Tensor) -> float:
    """norm(out - expected) / norm(expected); not a number where anything was left unwritten."""
    norm = expected.norm().item()
    return ((out.double() - expected).norm() / norm).item() if norm else out.double().norm().item()
