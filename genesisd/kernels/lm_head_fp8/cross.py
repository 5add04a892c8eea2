"""Compile a plan's kernel for a device that is not there, and say what it needs."""

from __future__ import annotations

from genesisd.kernels.compiled import Needs, needs_of
from genesisd.kernels.lm_head_fp8.kernel import lm_head
from genesisd.kernels.lm_head_fp8.plan import Plan

TYPES = {
    "x": "*bf16", "weight": "*u8", "scales": "*fp32", "out": "*bf16", "x_stride": "i32", "weight_stride": "i32",
    "out_stride": "i32", "rows": "i32", "channels": "i32",
}  # fmt: skip
ALIGNED = {"x", "weight", "scales", "out", "x_stride", "weight_stride"}


def needs(plan: Plan, capability: tuple[int, int], hidden: int, activations: str = "bf16") -> Needs:
    """Compile for a vocabulary of any size."""
    constants = {
        "H": hidden, "BV": plan.channels, "BK": plan.depth, "N": plan.rows, "STAGES": plan.stages, "ASM": True,
    }  # fmt: skip
    types = TYPES | {"x": f"*{activations}"}
    return needs_of(lm_head, types, constants, ALIGNED, capability, warps=plan.warps, stages=plan.stages)
