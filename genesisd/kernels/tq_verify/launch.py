"""The operation: two launches, no allocation when scratch and output are given, nothing that depends on lengths."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from genesisd.kernels.interpreting import interpreted
from genesisd.kernels.tq_verify import hopper
from genesisd.kernels.tq_verify.guards import Rows, tail_refusal
from genesisd.kernels.tq_verify.merge import merge
from genesisd.kernels.tq_verify.plan import Plan, Shape, plan_for, power_of_two
from genesisd.kernels.tq_verify.query_major import query_major
from genesisd.kernels.tq_verify.token_major import token_major

FORMS = {"query-major": query_major, "token-major": token_major}


@dataclass(frozen=True)
class Scratch:
    """What the splits leave for the merge. One is enough for all layers: they run one after another."""

    part: torch.Tensor
    lse: torch.Tensor


def shape_of(query: torch.Tensor, cache: torch.Tensor, batch: int, max_query_len: int, *, tail: bool = False) -> Shape:
    """What a plan depends on, of these tensors and their device."""
    capability, processors = (9, 0), 4
    if query.is_cuda:
        capability = torch.cuda.get_device_capability(query.device)
        processors = torch.cuda.get_device_properties(query.device).multi_processor_count
    kv_heads = cache.shape[2]
    return Shape(
        batch,
        kv_heads,
        query.shape[1] // kv_heads,
        query.shape[2],
        max_query_len,
        capability,
        processors,
        warp_groups=hopper.serves(query),
        tail=tail,
    )


def scratch_for(plan: Plan, query: torch.Tensor) -> Scratch:
    """Scratch of the size that a plan needs for so many query tokens and heads."""
    tokens, heads, dim = query.shape
    rows = plan.splits * plan.columns * plan.rows if plan.columns else tokens * heads * plan.splits
    part = torch.empty(rows, power_of_two(dim), dtype=torch.float32, device=query.device)
    return Scratch(part, torch.empty(rows, dtype=torch.float32, device=query.device))


def tq_verify(
    query: torch.Tensor,
    cache: torch.Tensor,
    table: torch.Tensor,
    lens: torch.Tensor,
    starts: torch.Tensor,
    *,
    max_query_len: int,
    scale: float,
    fp8_format: str = "e4nv",
    plan: Plan | None = None,
    scratch: Scratch | None = None,
    out: torch.Tensor | None = None,
    tail_key: torch.Tensor | None = None,
    tail_value: torch.Tensor | None = None,
) -> torch.Tensor:
    """Attention of each sequence's newest tokens over its cache, these tokens included, causal among them.

    Args:
        query: [query tokens, query heads, head_dim], contiguous heads.
        cache: [pages, page size, KV heads, slot bytes] uint8; ask `refusal` first whether it can be read.
        table: [sequences, pages of the longest] int32.
        lens: [sequences] int32: tokens in the cache, the query's own included. Zero gives zeros.
        starts: [sequences + 1] int32: where each sequence's query tokens begin.
        max_query_len: no sequence has more query tokens.
        scale: factor of the scores.
        fp8_format: how the keys are stored: "e4nv" or "e4b15".
        plan: the cut; must stay the same for a captured graph. Default: that of the shape.
        scratch: of at least the plan's size.
        out: like query.
        tail_key: [query tokens, KV heads, head_dim] of query's type, contiguous heads: where given, query tokens are
            read from here and from tail_value, and never from the cache, whose slots for them may hold anything.
        tail_value: likewise, their values.

    Raises:
        ValueError: a tail that lies otherwise, or a plan whose form takes none.
    """
    batch = lens.shape[0]
    tail = None if tail_key is None and tail_value is None else (tail_key, tail_value)
    plan = plan or plan_for(shape_of(query, cache, batch, max_query_len, tail=tail is not None))
    if tail is not None:
        refused = tail_refusal(*map(_rows, (query, *tail)), kv_heads=cache.shape[2], form=plan.form, splits=plan.splits)
        if refused is not None:
            raise ValueError(refused)
    scratch = scratch or scratch_for(plan, query)
    out = torch.empty_like(query) if out is None else out
    _attend(query, cache, table, lens, starts, plan, scratch, batch, max_query_len, scale, fp8_format, tail)
    _merge(lens, starts, plan, scratch, out, batch, max_query_len, cache.shape[2], tail is not None)
    return out


def _rows(tensor: torch.Tensor | None) -> Rows | None:
    return None if tensor is None else Rows(tuple(tensor.shape), tensor.stride(), str(tensor.dtype))


def _attend(query, cache, table, lens, starts, plan, scratch, batch, max_query_len, scale, fp8_format, tail) -> None:
    if plan.form == "warp-group":
        hopper.launch(
            query, cache, table, lens, starts, scratch.part, scratch.lse,
            plan=plan, batch=batch, max_query_len=max_query_len, scale=scale,
        )  # fmt: skip
        return
    _, page_size, kv_heads, _ = cache.shape
    heads, dim = query.shape[1:]
    group = heads // kv_heads
    blocks = -(-max_query_len * group // plan.rows)
    key, value = tail or (None, None)
    FORMS[plan.form][(plan.splits, kv_heads, batch * blocks)](
        query, cache, table, lens, starts, scratch.part, scratch.lse,
        scale / math.log(2), query.stride(0), table.stride(0), cache.stride(0) // 4, plan.splits,
        key, value, tail and key.stride(0), tail and value.stride(0),
        POS=cache.stride(1) // 4, HEAD=cache.stride(2) // 4, PAGE=page_size, KV_HEADS=kv_heads, GROUP=group,
        D=dim, BLOCK_D=power_of_two(dim), M=plan.rows, N=plan.tokens, CHUNK=plan.chunk,
        BLOCKS=blocks, FP8=plan.keys == "fp8", E4B15=fp8_format == "e4b15", ASM=not interpreted(),
        STAGES=plan.stages, num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip


def _merge(lens, starts, plan, scratch, out, batch, max_query_len, kv_heads, tail) -> None:
    if plan.form == "warp-group":
        hopper.merge(
            lens, starts, scratch.part, scratch.lse, out,
            plan=plan, batch=batch, max_query_len=max_query_len, kv_heads=kv_heads,
        )  # fmt: skip
        return
    heads, dim = out.shape[1:]
    block_d = power_of_two(dim)
    block, width = (64, 32) if plan.splits > 64 else (16, min(128, block_d))
    merge[(batch * max_query_len, heads, block_d // width)](
        scratch.part, scratch.lse, lens, starts, out, out.stride(0), plan.splits,
        HEADS=heads, D=dim, BLOCK_D=block_d, N=plan.tokens, CHUNK=plan.chunk,
        BLOCK=block, WIDTH=width, MAX_QUERY=max_query_len, TAIL=tail, num_warps=4,
    )  # fmt: skip
