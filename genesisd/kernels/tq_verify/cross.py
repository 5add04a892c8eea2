"""Compile a plan's kernel for a device that is not there, and say what it needs."""

from __future__ import annotations

from genesisd.kernels.compiled import Needs, needs_of, resources
from genesisd.kernels.tq_verify import hopper
from genesisd.kernels.tq_verify.launch import FORMS
from genesisd.kernels.tq_verify.plan import Plan, power_of_two

POINTERS = {
    "query": "*bf16", "cache": "*u8", "table": "*i32", "lens": "*i32", "starts": "*i32", "part": "*fp32", "lse": "*fp32",
}  # fmt: skip
TAIL = {"tail_key": "*bf16", "tail_value": "*bf16", "key_stride": "i32", "value_stride": "i32"}
NUMBERS = {"scale_log2": "fp32", "q_stride": "i32", "table_stride": "i32", "page_words": "i32", "splits": "i32"}
ALIGNED = {*POINTERS, "q_stride", "table_stride", "page_words"}


def needs(
    plan: Plan, capability: tuple[int, int], head_dim: int, group: int, max_query_len: int, *, tail: bool = False
) -> Needs:
    """Compile a plan's kernel for pages of 16 tokens and one KV head, the query tokens in the cache or in a tail."""
    if plan.form == "warp-group":
        return _warp_group_needs(plan, head_dim, group, max_query_len)
    kernel = FORMS[plan.form]
    slot = (head_dim + head_dim // 2 + 4) // 4
    constants = {
        "POS": slot, "HEAD": slot, "PAGE": 16, "KV_HEADS": 1, "GROUP": group, "D": head_dim,
        "BLOCK_D": power_of_two(head_dim), "M": plan.rows, "N": plan.tokens, "CHUNK": plan.chunk,
        "BLOCKS": -(-group * max_query_len // plan.rows), "FP8": plan.keys == "fp8", "E4B15": capability < (8, 9),
        "ASM": True, "STAGES": plan.stages,
    }  # fmt: skip
    known = POINTERS | NUMBERS | (TAIL if tail else {})
    constants |= {name: None for name in kernel.arg_names if name not in known | constants}
    types = {name: known[name] for name in kernel.arg_names if name not in constants}
    aligned = ALIGNED | set(TAIL) if tail else ALIGNED
    return needs_of(kernel, types, constants, aligned, capability, warps=plan.warps, stages=plan.stages)


def _warp_group_needs(plan: Plan, head_dim: int, group: int, max_query_len: int) -> Needs:
    """With two KV heads: the copies of single rows take more registers than those of whole pages."""
    slot, blocks = (head_dim + head_dim // 2 + 4) // 4, -(-group * max_query_len // plan.rows)
    binary = hopper.machine_code(
        head_dim, plan.rows, group, 2, 16, 2 * slot, slot, plan.stages, blocks, plan.chunk, True, False, plan.resident,
        plan.narrow,
    )  # fmt: skip
    return Needs(*resources(binary), hopper.shared_bytes(head_dim, plan.rows, plan.stages), "")
