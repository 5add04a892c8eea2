"""Whether the kernel answers right on this device: tried on a small cache before anything is served by it.

What compiles may still compute something else, with a compiler, a driver or a card that nobody has tried. Every kind of
launch is held against plain steps in float64, the last of them being the merge of several shares.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import Any, NamedTuple

import torch

from genesisd.carried.operation import Operation

logger = logging.getLogger(__name__)
BOUND = 1e-2
"""Greatest error, relative to what is right: five times what was measured, and far below any mistake."""
LENGTHS = (261, 17, 130)
"""Tokens of the sequences, in turn: several shares, hardly more than a page, a share and a bit."""
_TRIED: dict[tuple[object, ...], str | None] = {}


class Failure(NamedTuple):
    """Which plan failed, and how."""

    plan: Any
    reason: str


class Small(NamedTuple):
    """A batch of small sequences over pages that they share."""

    query: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor


def refuted(
    launch: ModuleType, operation: Operation, sequences: int, dtype: torch.dtype, device: torch.device
) -> str | None:
    """Why the kernel must not serve a setting here, or None; tried once for each.

    A form that fails is left out where the operation has others, and these have to do.
    """
    key = (operation, sequences, dtype, device)
    if key not in _TRIED:
        failed = _failure(launch, operation, sequences, dtype, device)
        if failed is not None and operation.leaves_out(launch, failed.plan, device, failed.reason):
            _TRIED.clear()  # other settings were tried with that form, and now the other ones serve them
            failed = _failure(launch, operation, sequences, dtype, device)
        _TRIED[key] = failed and failed.reason
    return _TRIED[key]


def _failure(
    launch: ModuleType, operation: Operation, sequences: int, dtype: torch.dtype, device: torch.device
) -> Failure | None:
    for tokens in sorted({1, operation.setting.max_query_len}):
        for batch, plan in _kinds(launch, operation, small(operation, 1, tokens, dtype, device), sequences, tokens):
            reason = _wrong(launch, operation, plan, batch, tokens, dtype, device)
            if reason is not None:
                return Failure(plan, reason)
    return None


def _kinds(
    launch: ModuleType, operation: Operation, like: Small, sequences: int, tokens: int
) -> Iterator[tuple[int, Any]]:
    """A batch of each kernel that is compiled, and one of several sequences."""

    def plan(batch: int) -> Any:
        return operation.plan(launch.shape_of(like.query, like.cache, batch, tokens))

    first = {dataclasses.replace(plan(batch), splits=0): batch for batch in range(sequences, 0, -1)}
    for batch in sorted({*first.values(), min(len(LENGTHS), sequences)}):
        yield from ((batch, one) for one in operation.tried(plan(batch)))


def small(operation: Operation, batch: int, tokens: int, dtype: torch.dtype, device: torch.device) -> Small:
    """Sequences with up to ``tokens`` new tokens each, in a cache that lies as the setting's does."""
    generator = torch.Generator(device=device).manual_seed(batch)
    setting = operation.setting
    layout, page, heads = setting.layout, setting.page_size, setting.kv_heads
    counts = [-(-length // page) for length in LENGTHS]
    pages, dim = sum(counts), layout.head_dim
    shape, strides = (pages, page, heads, layout.slot_bytes), _close_up(operation)
    cache = torch.zeros(pages * strides[0], dtype=torch.uint8, device=device).as_strided(shape, strides)
    keys, values = (torch.randn(pages, page, heads, dim, generator=generator, device=device) for _ in range(2))
    cache.copy_(operation.slots(keys, values))
    order = torch.randperm(pages, generator=generator, device=device).to(torch.int32).split(counts)
    table = torch.zeros(batch, max(counts), dtype=torch.int32, device=device)
    for row in range(batch):
        table[row, : counts[row % len(counts)]] = order[row % len(counts)]
    new = [max(1, tokens - row % len(counts)) for row in range(batch)]
    starts = torch.tensor([0, *new], device=device).cumsum(0).to(torch.int32)
    query = torch.randn(sum(new), setting.query_heads, dim, generator=generator, device=device).to(dtype)
    lens = torch.tensor([LENGTHS[row % len(LENGTHS)] for row in range(batch)], dtype=torch.int32, device=device)
    return Small(query, cache, table, lens, starts)


def _close_up(operation: Operation) -> tuple[int, int, int, int]:
    """The cache's strides, with pages as near to each other as keeps what of their distance chooses a kernel."""
    setting = operation.setting
    page, token, head = setting.cache_strides
    span = (setting.page_size - 1) * token + (setting.kv_heads - 1) * head + setting.layout.slot_bytes
    return span + (page - span) % operation.apart, token, head, 1


def _wrong(
    launch: ModuleType,
    operation: Operation,
    plan: Any,
    batch: int,
    tokens: int,
    dtype: torch.dtype,
    device: torch.device,
) -> str | None:
    try:
        error = _error(launch, operation, plan, small(operation, batch, tokens, dtype, device), tokens)
    except torch.OutOfMemoryError as problem:
        logger.warning("%s could not be tried, and is taken to be right: %s", operation.name, problem)
        return None
    except Exception as problem:  # noqa: BLE001 - whatever a compiler raises, the engine has a path of its own
        first, _, _ = str(problem).partition("\n")
        return f"it does not run here: {type(problem).__name__}: {first}"
    if error < BOUND:
        return None
    what = f"{operation.form(plan)}, {batch} x {tokens} query tokens"
    return f"it answers wrong here ({what}): error {error:.1e}, allowed {BOUND:.0e}"


def _error(launch: ModuleType, operation: Operation, plan: Any, given: Small, tokens: int) -> float:
    """Of one launch, relative to what is right; not a number where something was left unwritten."""
    scale = operation.setting.layout.head_dim**-0.5
    right = operation.right(*given, scale=scale)
    scratch = launch.scratch_for(plan, given.query)
    for field in dataclasses.fields(scratch):
        getattr(scratch, field.name).fill_(float("nan"))
    got = operation.run(
        launch, *given, max_query_len=tokens, scale=scale, plan=plan, scratch=scratch,
        out=torch.full_like(given.query, float("nan")),
    )  # fmt: skip
    return float(((got.double() - right).norm() / right.norm()).item())
