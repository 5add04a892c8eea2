"""The operation: one launch, no allocation when the output is given."""

from __future__ import annotations

import torch

from genesisd.kernels.interpreting import interpreted
from genesisd.kernels.lm_head_fp8.kernel import lm_head
from genesisd.kernels.lm_head_fp8.plan import Plan, Shape, plan_for


def shape_of(x: torch.Tensor, weight: torch.Tensor) -> Shape:
    """What a plan depends on, of these tensors and their device."""
    capability, processors = (9, 0), 1
    if x.is_cuda:
        capability = torch.cuda.get_device_capability(x.device)
        processors = torch.cuda.get_device_properties(x.device).multi_processor_count
    return Shape(x.shape[0], x.shape[1], weight.shape[0], capability, processors)


def lm_head_fp8(
    x: torch.Tensor,
    weight: torch.Tensor,
    scales: torch.Tensor,
    *,
    plan: Plan | None = None,
    out: torch.Tensor | None = None,
) -> torch.Tensor:
    """Logits of each row: activations times weights times the channel's scale, summed in float32.

    Args:
        x: [rows, hidden] bfloat16 or float16; rows follow each other or are multiples of 16 apart.
        weight: [channels, hidden] float8_e4m3fn, as `quantise` makes it; ask `refusal` first whether it can be read.
        scales: [channels] float32.
        plan: the cut; must stay the same for a captured graph. Default: that of the shape.
        out: [rows, channels] bfloat16, float16 or float32. Default: like x.
    """
    rows, hidden = x.shape
    channels = weight.shape[0]
    out = torch.empty(rows, channels, dtype=x.dtype, device=x.device) if out is None else out
    if rows == 0:
        return out
    plan = plan or plan_for(shape_of(x, weight))
    lm_head[(-(-channels // plan.channels), -(-rows // plan.rows))](
        x, weight.view(torch.uint8), scales, out, x.stride(0), weight.stride(0), out.stride(0), rows, channels,
        H=hidden, BV=plan.channels, BK=plan.depth, N=plan.rows, STAGES=plan.stages, ASM=not interpreted(),
        num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip
    return out
