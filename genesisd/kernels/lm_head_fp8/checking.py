"""The tests that need the real device: what the benchmark runs before it prints anything."""

from __future__ import annotations

from pathlib import Path

import torch

from genesisd.kernels.lm_head_fp8 import cases, problems
from genesisd.kernels.lm_head_fp8.launch import lm_head_fp8, shape_of
from genesisd.kernels.lm_head_fp8.plan import Plan, candidates
from genesisd.kernels.lm_head_fp8.reference import reference
from genesisd.kernels.trying import error, replayed, seed

SIZE = (2048, 18993)
"""Hidden size and channels, odd ones, on which every cut and a graph are tried."""


def failures(device: str, _upstream: Path | None = None) -> list[str]:
    """What is wrong on this device, a line each; nothing if all is well. Inputs are drawn anew each time."""
    found = [failure(case, device) for case in cases.GPU_EDGES]
    return [line for line in (*found, *every_byte(device), *every_plan(device), captured(device)) if line is not None]


def failure(case: cases.Case, device: str, plan: Plan | None = None) -> str | None:
    """Why a case failed, or None."""
    drawn = seed()
    problem = problems.make(case, device, drawn)
    found = error(poisoned(problem, plan), reference(*problem.arguments()))
    allowed = cases.TOLERANCE[case.out]
    if found < allowed:
        return None
    return f"{case.name}: error {found:.2e}, allowed {allowed:.0e} (seed {drawn}, {plan or 'its own plan'})"


def poisoned(problem: problems.Problem, plan: Plan | None = None) -> torch.Tensor:
    """The kernel's output where the output held NaN before, as did what lies behind it."""
    rows, channels = problem.case.rows, problem.case.channels
    around = torch.full((rows + 1, channels + 5), float("nan"), device=problem.x.device)
    around = around.to(getattr(torch, problem.case.out))
    out = lm_head_fp8(*problem.arguments(), plan=plan, out=around[:rows, :channels])
    if not around[rows:].isnan().all() or not around[:, channels:].isnan().all():
        return torch.full_like(out, float("nan"))
    return out


def every_byte(device: str) -> list[str]:
    """Which of all bytes (but the two that are not numbers) are read as another number, by type of activations."""
    found = []
    for dtype in (torch.bfloat16, torch.float16):
        bytes_ = torch.tensor([i for i in range(256) if i & 127 != 127], dtype=torch.uint8, device=device)
        weight = torch.zeros(len(bytes_), 16, dtype=torch.uint8, device=device)
        weight[:, 3] = bytes_
        x = torch.zeros(1, 16, dtype=dtype, device=device)
        x[0, 3] = 1
        out = torch.empty(1, len(bytes_), device=device)
        lm_head_fp8(x, weight.view(torch.float8_e4m3fn), torch.ones(len(bytes_), device=device), out=out)
        wrong = out[0] != bytes_.view(torch.float8_e4m3fn).float()
        if wrong.any():
            found.append(f"bytes misread with {dtype}: {bytes_[wrong].tolist()}")
    return found


def every_plan(device: str) -> list[str | None]:
    """What is wrong with any cut that a sweep would time."""
    case = cases.Case("plans", 8, *SIZE)
    problem = problems.make(case, device, 1)
    return [failure(case, device, plan) for plan in candidates(shape_of(problem.x, problem.weight))]


def captured(device: str) -> str | None:
    """Why a captured graph does not serve other activations, or None."""
    problem = problems.make(cases.Case("captured", 3, *SIZE), device, seed())
    out = torch.empty(3, SIZE[1], device=device)
    replayed(lambda: lm_head_fp8(*problem.arguments(), out=out), out, [(problem.x, 0.0)])
    found = error(out, reference(*problem.arguments()))
    return None if found < cases.TOLERANCE["float32"] else f"captured graph: error {found:.2e}"
