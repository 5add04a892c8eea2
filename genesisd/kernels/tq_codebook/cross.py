"""Compile a plan's kernels for a device that is not there, and say what they need."""

from __future__ import annotations

from genesisd.kernels.compiled import Needs, needs_of
from genesisd.kernels.tq_codebook.kernel import attend
from genesisd.kernels.tq_codebook.layout import KEY_BITS, layout_of
from genesisd.kernels.tq_codebook.plan import Plan
from genesisd.kernels.tq_codebook.rotate import rotate

POINTERS = {
    "query": "*fp16", "factors": "*fp32", "cache": "*u8", "tables": "*u8", "table": "*i32", "lens": "*i32",
    "starts": "*i32", "part": "*fp32", "lse": "*fp32",
}  # fmt: skip
NUMBERS = {"scale_log2": "fp32", "table_stride": "i32", "page_halves": "i32", "splits": "i32"}


def needs(plan: Plan, capability: tuple[int, int], kind: str, head_dim: int, group: int, max_query_len: int) -> Needs:
    """Compile the attention for pages of 16 tokens and one KV head."""
    slot = layout_of(kind, head_dim).slot_bytes // 2
    constants = {
        "POS": slot, "HEAD": 16 * slot, "PAGE": 16, "KV_HEADS": 1, "GROUP": group, "D": head_dim,
        "BITS": KEY_BITS[kind], "M": plan.rows, "N": plan.tokens, "CHUNK": plan.chunk,
        "BLOCKS": -(-group * max_query_len // plan.rows), "ASM": True, "STAGES": plan.stages,
    }  # fmt: skip
    aligned = {*POINTERS, "table_stride", "page_halves"}
    return needs_of(attend, POINTERS | NUMBERS, constants, aligned, capability, warps=plan.warps, stages=plan.stages)


def rotation_needs(capability: tuple[int, int], head_dim: int) -> Needs:
    """Compile the rotation of the query."""
    types = {
        "query": "*bf16", "rotation": "*fp32", "out": "*fp16", "factors": "*fp32", "q_stride": "i32", "rows": "i32",
    }  # fmt: skip
    constants = {"HEADS": 8, "D": head_dim, "R": 16, "C": 32, "K": 64}
    return needs_of(rotate, types, constants, set(types) - {"rows"}, capability, warps=2, stages=2)
