"""Compile a kernel in triton for a device that is not there, and say what it needs."""

from __future__ import annotations

import pathlib
import re
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@dataclass(frozen=True)
class Needs:
    """What a compiled kernel takes of a multiprocessor."""

    registers: int
    stack_bytes: int
    """More than none: registers are spilled."""
    shared_bytes: int
    ptx: str


def needs_of(
    kernel,
    types: Mapping[str, str],
    constants: Mapping[str, object],
    aligned: Collection[str],
    capability: tuple[int, int],
    *,
    warps: int,
    stages: int,
) -> Needs:
    """Compile with these types of arguments; all others are constants. ``aligned`` ones are multiples of 16."""
    signature = {name: types.get(name, "constexpr") for name in kernel.arg_names}
    places = {name: (kernel.arg_names.index(name),) for name in kernel.arg_names}
    source = ASTSource(
        kernel,
        signature,
        constexprs={places[name]: value for name, value in constants.items()},
        attrs={places[name]: [["tt.divisibility", 16]] for name in aligned},
    )
    target = GPUTarget("cuda", capability[0] * 10 + capability[1], 32)
    compiled = triton.compile(source, target=target, options={"num_warps": warps, "num_stages": stages})
    registers, stack = resources(compiled.asm["cubin"])
    return Needs(registers, stack, compiled.metadata.shared, compiled.asm["ptx"])


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
