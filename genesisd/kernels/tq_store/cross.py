"""Compile a plan's kernel for a device that is not there, and say what it needs."""

from __future__ import annotations

from genesisd.kernels.compiled import Needs, needs_of
from genesisd.kernels.tq_store.kernel import store
from genesisd.kernels.tq_store.plan import Plan
from genesisd.kernels.tq_verify.layout import K8V4
from genesisd.kernels.tq_verify.plan import power_of_two

STRIDES = ("key_token", "key_head", "value_token", "value_head", "page_words")


def needs(plan: Plan, capability: tuple[int, int], head_dim: int, heads: int, activations: str = "bf16") -> Needs:
    """Compile for pages of 16 tokens."""
    words = K8V4(head_dim).slot_bytes // 4
    constants = {
        "POS": heads * words, "HEAD": words, "PAGE": 16, "HEADS": heads, "D": head_dim,
        "BLOCK_D": power_of_two(head_dim), "R": plan.rows, "E4B15": capability < (8, 9), "ASM": True,
    }  # fmt: skip
    pointers = {"key": f"*{activations}", "value": f"*{activations}", "cache": "*u8", "slot_mapping": "*i64"}
    types = pointers | dict.fromkeys((*STRIDES, "tokens"), "i32")
    return needs_of(
        store, types, constants, {"key", "value", "cache", *STRIDES}, capability, warps=plan.warps, stages=1
    )
