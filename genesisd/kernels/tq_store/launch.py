"""The operation: one launch, no allocation, no copy of keys and values that lie in a wider tensor."""

from __future__ import annotations

import torch

from genesisd.kernels.interpreting import interpreted
from genesisd.kernels.tq_store.kernel import store
from genesisd.kernels.tq_store.plan import Plan, Shape, plan_for
from genesisd.kernels.tq_verify.plan import power_of_two


def shape_of(key: torch.Tensor) -> Shape:
    """What a plan depends on, of these keys and their device."""
    processors = torch.cuda.get_device_properties(key.device).multi_processor_count if key.is_cuda else 4
    tokens, heads, dim = key.shape
    return Shape(tokens * heads, dim, processors)


def tq_store(
    key: torch.Tensor,
    value: torch.Tensor,
    cache: torch.Tensor,
    slot_mapping: torch.Tensor,
    *,
    fp8_format: str = "e4nv",
    plan: Plan | None = None,
) -> None:
    """Write each token's keys and values to its slot of the cache.

    Args:
        key: [tokens, KV heads, head_dim] bfloat16, float16 or float32; the numbers of a head follow each other.
        value: likewise.
        cache: [pages, page size, KV heads, slot bytes] uint8; ask `refusal` first whether it can be written.
        slot_mapping: [tokens] int32 or int64: page * page size + place; negative for padding, which is skipped.
        fp8_format: how keys are stored: "e4nv" or "e4b15".
        plan: the cut. Default: that of the shape.
    """
    tokens, heads, dim = key.shape
    if tokens == 0:
        return
    plan = plan or plan_for(shape_of(key))
    store[(-(-tokens * heads // plan.rows),)](
        key, value, cache, slot_mapping,
        key.stride(0), key.stride(1), value.stride(0), value.stride(1), cache.stride(0) // 4, tokens,
        POS=cache.stride(1) // 4, HEAD=cache.stride(2) // 4, PAGE=cache.shape[1], HEADS=heads,
        D=dim, BLOCK_D=power_of_two(dim), R=plan.rows, E4B15=fp8_format == "e4b15", ASM=not interpreted(),
        num_warps=plan.warps, num_stages=1,
    )  # fmt: skip
