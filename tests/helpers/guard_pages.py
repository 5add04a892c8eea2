"""Operations run beside memory that nobody may touch: a read or write outside of a tensor ends the process.

    python -m tests.helpers.guard_pages OPERATION [FOLDER]

Each tensor that a kernel gets lies once right before a page without access and once right behind one. Says each case
before it runs it, so that the last line names the one that faulted; the exit status says whether all agreed with the
reference. FOLDER takes compiled code, where an operation has any. On its own, with a process to lose.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TRITON_INTERPRET", "1")  # read when a kernel is defined

import torch
import triton
import triton.language as tl

from genesisd.kernels.lm_head_fp8 import cases as head_cases
from genesisd.kernels.lm_head_fp8 import checking as lm_head
from genesisd.kernels.lm_head_fp8.plan import Plan as HeadPlan
from genesisd.kernels.tq_codebook import cases as codebook_cases
from genesisd.kernels.tq_codebook import checking as codebook
from genesisd.kernels.tq_codebook import problems as codebook_problems
from genesisd.kernels.tq_store import cases as store_cases
from genesisd.kernels.tq_store import checking as store
from genesisd.kernels.tq_verify import checking as verify
from genesisd.kernels.tq_verify import problems as verify_problems
from genesisd.kernels.tq_verify.cases import TOLERANCE, Case, with_tails
from genesisd.kernels.tq_verify.merge import merge
from genesisd.kernels.tq_verify.reference import reference
from genesisd.kernels.trying import error
from tests.helpers import hopper_on_cpu

PAGE = mmap.PAGESIZE
NONE = 0
"""PROT_NONE, which the module `mmap` has not."""
SIDES = ("before", "behind")
LIBC = ctypes.CDLL(None, use_errno=True)
Place = Callable[[torch.Tensor], torch.Tensor]


def placed(tensor: torch.Tensor, side: str) -> torch.Tensor:
    """A copy, strides and all, that ends right ``before`` a page without access, or begins right ``behind`` one.

    Raises:
        OSError: the page could not be forbidden.
    """
    if tensor.numel() == 0:
        return tensor
    reach = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True))
    extent = reach * tensor.element_size()
    room = -(-extent // PAGE) * PAGE
    memory = mmap.mmap(-1, room + PAGE)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    first = room - extent if side == "before" else PAGE
    memory[first : first + extent] = b"\xff" * extent  # what lies between rows that are apart is no number
    if LIBC.mprotect(ctypes.c_void_p(begin + (room if side == "before" else 0)), ctypes.c_size_t(PAGE), NONE):
        raise OSError(ctypes.get_errno(), "mprotect")
    flat = torch.frombuffer(memory, dtype=torch.uint8, count=extent, offset=first).view(tensor.dtype)
    copy = flat.as_strided(tensor.shape, tensor.stride())
    copy.copy_(tensor)
    return copy


class Placing:
    """Puts copies in the place of all tensors of all launches in the interpreter."""

    side = SIDES[0]
    count = 0
    """Tensors placed so far."""

    def __init__(self) -> None:
        kind = type(merge)  # of all kernels here: the interpreter's
        launching = kind.__getitem__

        def guarded(kernel: Any, grid: Any) -> Callable[..., None]:
            return lambda *given, **named: self.launch(launching(kernel, grid), given, named)

        kind.__getitem__ = guarded

    def place(self, tensor: torch.Tensor) -> torch.Tensor:
        self.count += 1
        return placed(tensor, self.side)

    def launch(self, run: Callable[..., object], given: tuple[Any, ...], named: dict[str, Any]) -> None:
        copies = [self.place(one) if isinstance(one, torch.Tensor) else one for one in given]
        run(*copies, **named)
        for one, copy in zip(given, copies, strict=True):
            if isinstance(one, torch.Tensor):
                one.copy_(copy)


@triton.jit
def peek(tensor, out, at):
    """Reads one number, wherever that is."""
    tl.store(out, tl.load(tensor + at))


VERIFY = with_tails(
    (
        Case("group 3, head-major pages", 6, 2, 64, (1, 17, 40), (2, 1, 3), by_heads=True),
        Case("dim 96, pages of 48", 4, 1, 96, (47, 50), (2, 2), page=48),
        Case("an empty sequence, fewer tokens than queries", 4, 1, 128, (33, 0, 3), (3, 2, 4)),
    )
)
COARSE = Case("e4b15 keys", 2, 1, 64, (20,), (2,), fp8_format="e4b15", key_scale=0.4)
HOPPER = (
    Case("ragged, two KV heads", 12, 2, 128, (17, 0, 70, 1, 3), (4, 2, 3, 4, 1)),
    Case("pages of 48", 8, 1, 256, (47, 130), (6, 6), page=48),
    Case("head-major pages", 16, 2, 128, (17, 70), (1, 1), by_heads=True),
)
CODEBOOK = tuple(
    codebook_cases.Case(f"{kind}: {name}", kind, *shape, **rest)
    for kind in codebook_cases.KEY_BITS
    for name, shape, rest in (
        ("one KV head", (2, 1, 64, (40, 0, 3), (2, 1, 4)), {}),
        ("three KV heads, by heads", (6, 3, 64, (17,), (2,)), {"by_heads": True}),
        ("pages of 48", (4, 2, 128, (47, 49), (3, 3)), {"page": 48}),
        ("pages apart", (2, 1, 64, (20,), (1,)), {"padded": True}),
    )
)
STORE = ("one token", "no token", "five heads, dim 96", "dim 72", "pages of 7", "pages apart", "float32", "int32 slots")
HEAD = (
    *("1 rows", "no rows", "9 rows", "one channel", "a channel short of a tile", "a channel over a tile"),
    *("narrower than a step", "a step and 16", "float16 out"),
)


def tried(operation: str, place: Place, folder: Path) -> list[tuple[str, Callable[[], bool]]]:
    """The cases of an operation, each with what runs it and says whether it agrees with the reference."""
    stored = [case for case in store_cases.CPU_EDGES if case.name.removesuffix(", e4nv") in (*STORE, "dim 72, e4b15")]
    heads = [case for case in head_cases.CPU_EDGES if case.name in HEAD]
    wide = head_cases.Case("x", 9, 272, 150), HeadPlan(128, 256, 8, 3, 8, 3)
    return {
        "query-major": [(case.name, partial(of_verify, case, (8, 6))) for case in (*VERIFY, COARSE)],
        "token-major": [(case.name, partial(of_verify, case, (9, 0))) for case in VERIFY],
        "hopper": [
            (f"{case.name}, {aligned=}", partial(of_hopper, case, place, folder, aligned))
            for case in HOPPER
            for aligned in (True, False)
        ],
        "tq_codebook": [(case.name, partial(of_codebook, case)) for case in CODEBOOK],
        "tq_store": [(case.name, partial(of_store, case)) for case in stored],
        "lm_head_fp8": [
            *((case.name, partial(of_head, case, None)) for case in heads),
            ("wide tiles", partial(of_head, *wide)),
        ],
        "inside": [("both ends", lambda: of_peek(0) and of_peek(2))],
        "one too far": [("the end", partial(of_peek, 3))],
        "one too early": [("the begin", partial(of_peek, -1))],
    }[operation]


def of_peek(at: int) -> bool:
    out = torch.zeros(1)
    peek[(1,)](torch.tensor([1.0, 2.0, 3.0]), out, at)
    return out.item() == at + 1


def of_store(case: store_cases.Case) -> bool:
    return store.failure(case, "cpu") is None


def of_head(case: head_cases.Case, plan: HeadPlan | None) -> bool:
    return lm_head.failure(case, "cpu", plan) is None


def of_codebook(case: codebook_cases.Case) -> bool:
    problem = codebook_problems.make(case, "cpu", seed())
    return error(codebook.poisoned(problem), codebook.expected(problem)) < codebook_cases.TOLERANCE


def of_verify(case: Case, capability: tuple[int, int]) -> bool:
    problem = verify_problems.make(case, "cpu", seed())
    expected = reference(*problem.arguments(), scale=problem.scale, fp8_format=case.fp8_format, **problem.tail)
    return error(verify.poisoned(problem, capability=capability), expected) < TOLERANCE


def of_hopper(case: Case, place: Place, folder: Path, aligned: bool) -> bool:
    problem = verify_problems.make(case, "cpu", seed())
    expected = reference(*problem.arguments(), scale=problem.scale)
    out = hopper_on_cpu.attended(problem, folder, aligned=aligned, place=place)
    return error(out, expected) < TOLERANCE


def seed() -> int:
    return torch.seed() % 2**31


def main() -> int:
    faulthandler.enable()
    warnings.simplefilter("ignore")  # the interpreter's own, of numpy
    torch.set_num_threads(1)
    operation, folder, placing, wrong = sys.argv[1], Path(sys.argv[-1]), Placing(), []
    for side in SIDES:
        placing.side = side
        for name, run in tried(operation, placing.place, folder):
            print(f"{side} a page: {name}", flush=True)
            if not run():
                wrong.append(f"{side} a page: {name}")
    print(f"tensors placed: {placing.count}; unlike the reference: {', '.join(wrong) or 'none'}")
    return 1 if wrong or not placing.count else 0


if __name__ == "__main__":
    sys.exit(main())
