"""The form of tq_verify in CUDA run on a CPU: its own text, compiled by g++ over stand-ins for what a device brings."""

from __future__ import annotations

import ctypes
import math
import re
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import torch

from genesisd.kernels.tq_verify import hopper
from genesisd.kernels.tq_verify.cases import Case
from genesisd.kernels.tq_verify.plan import Plan, Shape, plan_for
from genesisd.kernels.tq_verify.problems import Problem

DEVICE = Path(__file__).with_name("hopper_on_cpu.h")
STATEMENTS = {
    r'asm volatile\("griddepcontrol\.wait;" ::: "memory"\);': "",
    r'asm volatile\("griddepcontrol\.launch_dependents;"\);': "",
    r'asm volatile\("ld\.global\.nc\.b32.*?"l"\((.*?batch\))\)\);': r"soon = *(const volatile int*)(\1);",
    r'asm volatile\("mbarrier\.init.*?"memory"\);': "runs[threadIdx.x] = Run{}, barriers_at = barriers;",
    r'asm volatile\("fence\.mbarrier_init.*?"memory"\);': "",
    r'asm volatile\("cp\.async\.bulk\.global.*?"memory"\);': (
        "memcpy(part + (u64)(slot + n) * D, memory + output + n * OUT_LINE, D * 4);"
    ),
    r'asm volatile\("cp\.async\.bulk\.commit_group.*?"memory"\);': "",
    r'asm\("\{\.reg \.b32 b; cvt\.rn\.satfinite.*?"r"\(x\)\);': "one = to_e4m3x2(x), left = less_e4m3x2(x, one);",
    r'asm\("cvt\.rn\.satfinite\.e4m3x2\.f16x2.*?"r"\(left\)\);': "rest = to_e4m3x2(left);",
    r"extern __shared__ [^\n]*": "",
}
"""What stands within longer functions, and what it does; whole functions in assembly are in the header."""
ENTRY = """
extern "C" void run(int columns, int rows, const u16* query, const u32* cache, const int* table, const int* lens,
                    const int* starts, float* part, float* lse, float scale, int q_stride, int table_stride, int page_words,
                    int batch, int splits, int narrow_to) {
  kernel = [=] {
    hopper(query, cache, table, lens, starts, part, lse, scale, q_stride, table_stride, page_words, batch, splits, narrow_to);
  };
  run_grid(columns, rows);
}
"""


def attended(
    problem: Problem,
    folder: Path,
    *,
    processors: int = 4,
    aligned: bool = True,
    narrow: bool = True,
    place: Callable[[torch.Tensor], torch.Tensor] = lambda tensor: tensor,
) -> torch.Tensor:
    """The output of a device of so many multiprocessors before it is rounded, merged in float64.

    ``folder`` takes the compiled code. ``aligned``: whether the copy engine is used. ``narrow``: whether a short batch
    may be served with half of the rows a program. ``place`` says where the code finds a tensor.
    """
    case, query, cache = problem.case, problem.query, problem.cache
    plan = planned(case, processors)
    plan = plan if narrow else replace(plan, narrow_to=0)
    blocks = plan.columns // case.kv_heads
    code = _compiled(folder, plan.rows, plan.narrow, {
        "D": case.dim, "ROWS": plan.rows, "NARROW": plan.narrow, "GROUP": case.heads // case.kv_heads,
        "KV_HEADS": case.kv_heads, "PAGE": case.page, "POS": cache.stride(1) // 4, "HEAD": cache.stride(2) // 4,
        "STAGES": plan.stages, "BLOCKS": blocks, "CHUNK": plan.chunk, "BULK": int(aligned),
        "HALF": int(query.dtype == torch.float16), "RESIDENT": plan.resident,
    })  # fmt: skip
    rows = plan.splits * plan.columns * plan.rows
    part, lse = torch.full((rows, case.dim), math.nan), torch.full((rows,), math.nan)
    tensors = [place(one) for one in (query, cache, problem.table, problem.lens, problem.starts, part, lse)]
    code.run(
        case.kv_heads, plan.splits * blocks, *(ctypes.c_void_p(one.data_ptr()) for one in tensors),
        ctypes.c_float(problem.scale / math.log(2)), query.stride(0), problem.table.stride(0), cache.stride(0) // 4,
        len(case.lens), plan.splits, plan.narrow_to,
    )  # fmt: skip
    return _merged(problem, plan, *(one.double() for one in tensors[-2:]))


def planned(case: Case, processors: int) -> Plan:
    """The form's plan on a device of so many multiprocessors."""
    group = case.heads // case.kv_heads
    shape = Shape(len(case.lens), case.kv_heads, group, case.dim, max(case.query_lens), (9, 0), processors)
    return plan_for(replace(shape, warp_groups=True))


def cut(case: Case, plan: Plan) -> tuple[int, bool]:
    """A chunk's tokens, and whether programs have half of the rows: as hopper_share.cu says it."""
    chunk = _sized(case, plan, plan.splits)
    if not plan.narrow or chunk > plan.narrow_to:
        return chunk, False
    return _sized(case, plan, plan.splits // 2), True


def _sized(case: Case, plan: Plan, splits: int) -> int:
    fair = -(-sum(case.lens) // (splits - len(case.lens)))
    return max(-(-fair // hopper.TILE) * hopper.TILE, plan.chunk)


def _merged(problem: Problem, plan: Plan, part: torch.Tensor, lse: torch.Tensor) -> torch.Tensor:
    case = problem.case
    group = case.heads // case.kv_heads
    chunk, narrow = cut(case, plan)
    blocks = plan.columns // case.kv_heads
    splits, blocks, wide = (plan.splits // 2, 2 * blocks, plan.narrow) if narrow else (plan.splits, blocks, plan.rows)
    places = blocks * case.kv_heads * wide
    part = part[: splits * places].view(splits, blocks, case.kv_heads, wide, case.dim)
    lse = lse[: splits * places].view(blocks, case.kv_heads, wide, splits)
    rows, before = [], 0
    for length, count in zip(case.lens, case.query_lens, strict=True):
        mine = slice(before, before := before + -(-length // chunk))
        for step, head in ((step, head) for step in range(count) for head in range(case.heads)):
            place = step * group + head % group
            at = (place // wide, head // group, place % wide)
            weights = lse[at][mine].exp2()
            rows.append(weights @ part[(mine, *at)] / weights.sum().clamp(min=1e-300))
    return torch.stack(rows).view(problem.query.shape)


def _compiled(folder: Path, rows: int, narrow: int, defines: dict[str, int]) -> ctypes.CDLL:
    name = "-".join(map(str, defines.values()))
    library = folder / f"{name}.so"
    if not library.exists():
        (folder / f"{name}.cpp").write_text(source(rows, narrow, defines))
        command = ["g++", "-std=c++17", "-O1", "-w", "-shared", "-fPIC", "-o", library, folder / f"{name}.cpp"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(library))


def source(rows: int, narrow: int, defines: dict[str, int]) -> str:
    """The device code for a shape as g++ takes it."""
    text = hopper.source(rows, narrow)
    for pattern, meaning in STATEMENTS.items():
        text, found = re.subn(pattern, meaning, text, flags=re.DOTALL)
        if found != 1:
            raise AssertionError(f"{pattern} stands {found} times in the device code: once is expected")
    named = "".join(f"#define {name} {value}\n" for name, value in defines.items())
    products = "".join(
        f"void {name}(float (&sums)[{width // 2}], const u32 (&rows)[4], u64 matrix, int add) "
        f"{{ product<{fp8}, {width}>(sums, rows, matrix, add); }}\n"
        for name, fp8 in (("keys_product", "true"), ("values_product", "false"))
        for width in filter(None, (rows, narrow))
    )
    return "\n".join([f'#include "{DEVICE}"', named, products, _without_assembly(text), ENTRY])


def _without_assembly(text: str) -> str:
    """The text without the functions whose bodies hold assembly: the header has them."""
    start = re.compile(r"^(?:template <int \w+> )?__device__ __forceinline__ [^;{]*\{", re.MULTILINE)
    kept, at = [], 0
    while (found := start.search(text, at)) is not None:
        end = _closed(text, found.end())
        kept.append(text[at : found.start()] if "asm" in text[found.start() : end] else text[at:end])
        at = end
    return "".join([*kept, text[at:]])


def _closed(text: str, at: int) -> int:
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at
