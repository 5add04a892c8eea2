"""Compile a plan's kernel for a device that is not there, and say what it needs."""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
from dataclasses import dataclass

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from genesisd.kernels.tq_verify import hopper
from genesisd.kernels.tq_verify.launch import FORMS
from genesisd.kernels.tq_verify.plan import Plan, power_of_two

POINTERS = {
    "query": "*bf16", "cache": "*u8", "table": "*i32", "lens": "*i32", "starts": "*i32", "part": "*fp32", "lse": "*fp32",
}  # fmt: skip
NUMBERS = {"scale_log2": "fp32", "q_stride": "i32", "table_stride": "i32", "page_words": "i32", "splits": "i32"}
ALIGNED = {*POINTERS, "q_stride", "table_stride", "page_words"}


@dataclass(frozen=True)
class Needs:
    """What a compiled kernel takes of a multiprocessor."""

    registers: int
    stack_bytes: int
    """More than none: registers are spilled."""
    shared_bytes: int
    ptx: str


def needs(plan: Plan, capability: tuple[int, int], head_dim: int, group: int, max_query_len: int) -> Needs:
    """Compile a plan's kernel for pages of 16 tokens and one KV head."""
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
    signature = {name: POINTERS.get(name) or NUMBERS.get(name) or "constexpr" for name in kernel.arg_names}
    places = {name: (kernel.arg_names.index(name),) for name in kernel.arg_names}
    source = ASTSource(
        kernel,
        signature,
        constexprs={places[name]: value for name, value in constants.items()},
        attrs={places[name]: [["tt.divisibility", 16]] for name in ALIGNED},
    )
    target = GPUTarget("cuda", capability[0] * 10 + capability[1], 32)
    compiled = triton.compile(source, target=target, options={"num_warps": plan.warps, "num_stages": plan.stages})
    registers, stack = resources(compiled.asm["cubin"])
    return Needs(registers, stack, compiled.metadata.shared, compiled.asm["ptx"])


def _warp_group_needs(plan: Plan, head_dim: int, group: int, max_query_len: int) -> Needs:
    """With two KV heads: the copies of single rows take more registers than those of whole pages."""
    slot, blocks = (head_dim + head_dim // 2 + 4) // 4, -(-group * max_query_len // plan.rows)
    binary = hopper.machine_code(
        head_dim, plan.rows, group, 2, 16, 2 * slot, slot, plan.stages, blocks, plan.chunk, True, False, plan.resident
    )
    return Needs(*resources(binary), hopper.shared_bytes(head_dim, plan.rows, plan.stages), "")


def resources(cubin: bytes) -> tuple[int, int]:
    """Registers and bytes of stack of the one kernel in a binary, by the tool that triton brings along."""
    tool = pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        said = subprocess.run([tool, "-res-usage", file.name], capture_output=True, text=True, check=True).stdout
    found = re.search(r"REG:(\d+) STACK:(\d+)", said)
    if found is None:
        raise RuntimeError(f"cuobjdump named no registers: {said[:200]!r}")
    return int(found[1]), int(found[2])
