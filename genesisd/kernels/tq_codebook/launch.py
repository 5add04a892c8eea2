"""The operation: three launches, no allocation when scratch and output are given, nothing that depends on lengths."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from genesisd.kernels.interpreting import interpreted
from genesisd.kernels.tq_codebook.kernel import attend
from genesisd.kernels.tq_codebook.layout import KEY_BITS
from genesisd.kernels.tq_codebook.plan import Plan, Shape, blocks_of, plan_for
from genesisd.kernels.tq_codebook.rotate import rotate
from genesisd.kernels.tq_verify.merge import merge


@dataclass(frozen=True)
class Scratch:
    """The rotated query, and what the splits leave for the merge. One is enough for all layers: they run in turn."""

    turned: torch.Tensor
    factors: torch.Tensor
    part: torch.Tensor
    lse: torch.Tensor


def shape_of(query: torch.Tensor, cache: torch.Tensor, batch: int, max_query_len: int) -> Shape:
    """What a plan depends on, of these tensors and their device."""
    capability, processors = (9, 0), 4
    if query.is_cuda:
        capability = torch.cuda.get_device_capability(query.device)
        processors = torch.cuda.get_device_properties(query.device).multi_processor_count
    kv_heads = cache.shape[2]
    return Shape(batch, kv_heads, query.shape[1] // kv_heads, query.shape[2], max_query_len, capability, processors)


def scratch_for(plan: Plan, query: torch.Tensor) -> Scratch:
    """Scratch of the size that a plan needs for so many query tokens and heads."""
    tokens, heads, dim = query.shape
    rows = tokens * heads
    turned = torch.empty(rows, dim, dtype=torch.float16, device=query.device)
    factors, lse = (torch.empty(n, dtype=torch.float32, device=query.device) for n in (rows, rows * plan.splits))
    return Scratch(turned, factors, torch.empty(rows * plan.splits, dim, dtype=torch.float32, device=query.device), lse)


def tq_codebook(
    query: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    lens: torch.Tensor,
    starts: torch.Tensor,
    *,
    kind: str,
    tables: torch.Tensor,
    rotation: torch.Tensor,
    max_query_len: int,
    scale: float,
    plan: Plan | None = None,
    scratch: Scratch | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of each sequence's newest tokens over its cache, these tokens included, causal among them.

    Args:
        query: [query tokens, query heads, head_dim], contiguous heads, not rotated.
        cache: [pages, page size, KV heads, slot bytes] uint8; ask `refusal` first whether it can be read.
        table: [sequences, pages of the longest] int32.
        lens: [sequences] int32: tokens in the cache, the query's own included. Zero gives zeros.
        starts: [sequences + 1] int32: where each sequence's query tokens begin.
        kind: "4bit_nc" or "k3v4_nc".
        tables: what `tables_of` made of the codebook.
        rotation: [head_dim, head_dim] float32, contiguous: keys were multiplied with it before they were stored.
        max_query_len: no sequence has more query tokens.
        scale: factor of the scores.
        plan: the cut; must stay the same for a captured graph. Default: that of the shape.
        scratch: of at least the plan's size.
        out: like query.
    """
    batch = lens.shape[0]
    shape = shape_of(query, cache, batch, max_query_len)
    plan = plan or plan_for(shape)
    scratch = scratch or scratch_for(plan, query)
    out = torch.empty_like(query) if out is None else out
    if out.numel() == 0 or batch == 0:
        return out
    _rotate(query, rotation, scratch)
    _attend(cache, table, lens, starts, tables, KEY_BITS[kind], plan, shape, scratch, scale / math.log(2))
    _merge(lens, starts, plan, shape, scratch, out)
    return out


def _rotate(query: torch.Tensor, rotation: torch.Tensor, scratch: Scratch) -> None:
    tokens, heads, dim = query.shape
    rows = tokens * heads
    rotate[(-(-rows // 16), dim // 32)](
        query, rotation, scratch.turned, scratch.factors, query.stride(0), rows,
        HEADS=heads, D=dim, R=16, C=32, K=64, num_warps=2, num_stages=2,
    )  # fmt: skip


def _attend(cache, table, lens, starts, tables, bits, plan, shape, scratch, scale_log2) -> None:
    dim, blocks = shape.head_dim, blocks_of(plan, shape)
    attend[(plan.splits, shape.kv_heads, shape.batch * blocks)](
        scratch.turned, scratch.factors, cache, tables, table, lens, starts, scratch.part, scratch.lse,
        scale_log2, table.stride(0), cache.stride(0) // 2, plan.splits,
        POS=cache.stride(1) // 2, HEAD=cache.stride(2) // 2, PAGE=cache.shape[1], KV_HEADS=shape.kv_heads,
        GROUP=shape.group, D=dim, BITS=bits, M=plan.rows, N=plan.tokens, CHUNK=plan.chunk,
        BLOCKS=blocks, ASM=not interpreted(), STAGES=plan.stages, num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip


def _merge(lens, starts, plan, shape, scratch, out) -> None:
    heads, dim = out.shape[1:]
    block, width = (64, 32) if plan.splits > 64 else (16, min(128, dim))
    merge[(shape.batch * shape.max_query_len, heads, dim // width)](
        scratch.part, scratch.lse, lens, starts, out, out.stride(0), plan.splits,
        HEADS=heads, D=dim, BLOCK_D=dim, N=plan.tokens, CHUNK=plan.chunk,
        BLOCK=block, WIDTH=width, MAX_QUERY=shape.max_query_len, num_warps=4,
    )  # fmt: skip
