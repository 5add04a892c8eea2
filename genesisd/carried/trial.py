"""Whether the kernel answers right on this device: tried on a small cache before anything is served by it.

What compiles may still compute something else, with a compiler, a driver or a card that nobody has tried. Every kind of
launch is held against plain steps in float64, the last of them being the merge of several shares.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterator
from types import ModuleType
from typing import NamedTuple

import torch

from genesisd.kernels.tq_verify.guards import Setting
from genesisd.kernels.tq_verify.pack import slots
from genesisd.kernels.tq_verify.plan import Plan, plan_for
from genesisd.kernels.tq_verify.reference import reference

logger = logging.getLogger(__name__)
BOUND = 1e-2
"""Greatest error, relative to what is right: five times what was measured, and far below any mistake."""
LENGTHS = (261, 17, 130)
"""Tokens of the sequences, in turn: several shares, hardly more than a page, a share and a bit."""
_TRIED: dict[tuple[object, ...], str | None] = {}


class Failure(NamedTuple):
    """Which form of the kernel failed, and how."""

    form: str
    reason: str


class Small(NamedTuple):
    """A batch of small sequences over pages that they share."""

    query: torch.Tensor
    cache: torch.Tensor
    table: torch.Tensor
    lens: torch.Tensor
    starts: torch.Tensor


def refuted(
    launch: ModuleType, setting: Setting, sequences: int, dtype: torch.dtype, device: torch.device
) -> str | None:
    """Why the kernel must not serve a setting here, or None; tried once for each.

    A form in CUDA that fails is left out, and those in triton have to do.
    """
    key = (setting, sequences, dtype, device)
    if key not in _TRIED:
        failed = _failure(launch, setting, sequences, dtype, device)
        if failed is not None and failed.form == "warp-group":
            launch.hopper.leave_out(torch.empty(0, device=device).device.index, failed.reason)
            _TRIED.clear()  # other settings were tried with that form, and now the other ones serve them
            failed = _failure(launch, setting, sequences, dtype, device)
        _TRIED[key] = failed and failed.reason
    return _TRIED[key]


def _failure(
    launch: ModuleType, setting: Setting, sequences: int, dtype: torch.dtype, device: torch.device
) -> Failure | None:
    for tokens in sorted({1, setting.max_query_len}):
        for batch, plan in _kinds(launch, small(setting, 1, tokens, dtype, device), sequences, tokens):
            reason = _wrong(launch, setting, plan, batch, tokens, dtype, device)
            if reason is not None:
                return Failure(plan.form, reason)
    return None


def _kinds(launch: ModuleType, like: Small, sequences: int, tokens: int) -> Iterator[tuple[int, Plan]]:
    """A batch of each kernel that is compiled, and one of several sequences."""

    def plan(batch: int) -> Plan:
        return plan_for(launch.shape_of(like.query, like.cache, batch, tokens))

    first = {dataclasses.replace(plan(batch), splits=0): batch for batch in range(sequences, 0, -1)}
    for batch in sorted({*first.values(), min(len(LENGTHS), sequences)}):
        yield batch, plan(batch)
        if plan(batch).narrow:  # which of its two ways a launch goes is told by lengths, and small ones know only one
            yield batch, dataclasses.replace(plan(batch), narrow_to=0)


def small(setting: Setting, batch: int, tokens: int, dtype: torch.dtype, device: torch.device) -> Small:
    """Sequences with up to ``tokens`` new tokens each, in a cache that lies as the setting's does."""
    generator = torch.Generator(device=device).manual_seed(batch)
    layout, page, heads = setting.layout, setting.page_size, setting.kv_heads
    counts = [-(-length // page) for length in LENGTHS]
    pages, dim = sum(counts), layout.head_dim
    shape, strides = (pages, page, heads, layout.slot_bytes), _close_up(setting)
    cache = torch.zeros(pages * strides[0], dtype=torch.uint8, device=device).as_strided(shape, strides)
    keys, values = (torch.randn(pages, page, heads, dim, generator=generator, device=device) for _ in range(2))
    cache.copy_(slots(keys, values, setting.fp8_format))
    order = torch.randperm(pages, generator=generator, device=device).to(torch.int32).split(counts)
    table = torch.zeros(batch, max(counts), dtype=torch.int32, device=device)
    for row in range(batch):
        table[row, : counts[row % len(counts)]] = order[row % len(counts)]
    new = [max(1, tokens - row % len(counts)) for row in range(batch)]
    starts = torch.tensor([0, *new], device=device).cumsum(0).to(torch.int32)
    query = torch.randn(sum(new), setting.query_heads, dim, generator=generator, device=device).to(dtype)
    lens = torch.tensor([LENGTHS[row % len(LENGTHS)] for row in range(batch)], dtype=torch.int32, device=device)
    return Small(query, cache, table, lens, starts)


def _close_up(setting: Setting) -> tuple[int, int, int, int]:
    """The cache's strides, with pages as near to each other as keeps what of their distance chooses a kernel."""
    page, token, head = setting.cache_strides
    span = (setting.page_size - 1) * token + (setting.kv_heads - 1) * head + setting.layout.slot_bytes
    return span + (page - span) % 64, token, head, 1


def _wrong(
    launch: ModuleType,
    setting: Setting,
    plan: Plan,
    batch: int,
    tokens: int,
    dtype: torch.dtype,
    device: torch.device,
) -> str | None:
    try:
        error = _error(launch, setting, plan, small(setting, batch, tokens, dtype, device), tokens)
    except torch.OutOfMemoryError as problem:
        logger.warning("tq_verify could not be tried, and is taken to be right: %s", problem)
        return None
    except Exception as problem:  # noqa: BLE001 - whatever a compiler raises, the engine has a path of its own
        first, _, _ = str(problem).partition("\n")
        return f"it does not run here: {type(problem).__name__}: {first}"
    if error < BOUND:
        return None
    return (
        f"it answers wrong here ({plan.form}, {batch} x {tokens} query tokens): error {error:.1e}, allowed {BOUND:.0e}"
    )


def _error(launch: ModuleType, setting: Setting, plan: Plan, given: Small, tokens: int) -> float:
    """Of one launch, relative to what is right; not a number where something was left unwritten."""
    scale, kind = setting.layout.head_dim**-0.5, setting.fp8_format
    right = reference(*given, scale=scale, fp8_format=kind)
    scratch = launch.scratch_for(plan, given.query)
    for field in dataclasses.fields(scratch):
        getattr(scratch, field.name).fill_(float("nan"))
    got = launch.tq_verify(
        *given, max_query_len=tokens, scale=scale, fp8_format=kind, plan=plan, scratch=scratch,
        out=torch.full_like(given.query, float("nan")),
    )  # fmt: skip
    return float(((got.double() - right).norm() / right.norm()).item())
