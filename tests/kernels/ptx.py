"""The assembly of kernels, carried out in Python: triton's interpreter knows none, and there may be no device."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable

import numpy as np

WORD = 0xFFFFFFFF


def program_of(kernel) -> str:
    """The longest text in a kernel's source: its assembly, and not its description."""
    function = ast.parse(inspect.getsource(kernel.fn)).body[0]
    texts = (
        node.value for node in ast.walk(function) if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return max((text for text in texts if ";" in text and "$0" in text), key=len)


def run(text: str, outputs: int, inputs: list[int]) -> list[int]:
    """What the operands hold behind it: those that are written come first. Registers are words, `{a, b}` halves of one."""
    held: dict[str, int] = {f"${outputs + i}": value for i, value in enumerate(inputs)}
    for line in re.findall(r"^\s*([a-z][^;]*);", text, re.MULTILINE):
        name, operands = line.split(None, 1)
        if name == "mov.b32" and operands.startswith("{"):
            low, high, source = re.findall(r"[\w$]+", operands)
            held[low], held[high] = held[source] & 0xFFFF, held[source] >> 16
            continue
        target, *sources = [part.strip() for part in operands.split(",")]
        held[target] = DOES[name](*(held[part] if part in held else int(part, 0) for part in sources)) & WORD
    return [held[f"${i}"] for i in range(outputs)]


def permute(a: int, b: int, selector: int) -> int:
    """Four bytes of eight; a selector's highest bit asks for the byte's sign eight times."""
    known = [(a | b << 32) >> 8 * i & 255 for i in range(8)]
    chosen = [selector >> 4 * i & 15 for i in range(4)]
    found = [255 * (known[c & 7] >> 7) if c & 8 else known[c] for c in chosen]
    return sum(byte << 8 * i for i, byte in enumerate(found))


def logic(a: int, b: int, c: int, table: int) -> int:
    """Any function of three bits, bit by bit."""
    bits = ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1) for i in range(32))
    return sum((table >> at & 1) << i for i, at in enumerate(bits))


def halves(does: Callable[..., np.ndarray]) -> Callable[..., int]:
    """A function of pairs of float16, rounded once."""

    def paired(*words: int) -> int:
        pairs = [np.array([word], np.uint32).view(np.float16).astype(np.float64) for word in words]
        return int(does(*pairs).astype(np.float16).view(np.uint32)[0])

    return paired


DOES: dict[str, Callable[..., int]] = {
    "mov.b32": lambda a: a,
    "and.b32": lambda a, b: a & b,
    "sub.u32": lambda a, b: a - b,
    "shl.b32": lambda a, b: a << b,
    "shr.u32": lambda a, b: a >> b,
    "shf.r.wrap.b32": lambda a, b, by: (a | b << 32) >> (by & 31),
    "mad.lo.u32": lambda a, b, c: a * b + c,
    "prmt.b32": permute,
    "lop3.b32": logic,
    "mul.f16x2": halves(lambda a, b: a * b),
    "sub.f16x2": halves(lambda a, b: a - b),
    "fma.rn.f16x2": halves(lambda a, b, c: a * b + c),
}
