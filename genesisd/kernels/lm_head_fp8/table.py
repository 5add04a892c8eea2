"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import torch

from genesisd.kernels import rows
from genesisd.kernels.lm_head_fp8 import cases, problems, timing
from genesisd.kernels.lm_head_fp8.launch import shape_of
from genesisd.kernels.lm_head_fp8.plan import candidates
from genesisd.kernels.replays import Rates

HEADER = rows.header(
    "hidden x vocabulary, rows", "floor us", "bfloat16 us", "torch FP8 us", "ours us", "of the floor", "goal", "error",
    "of FP8",
)  # fmt: skip


def lines(found: Rates, chosen: list[cases.Case], _upstream: object | None, *, sweep: bool) -> Iterator[str]:
    """A line a case; with ``sweep`` the times of all cuts instead."""
    if sweep:
        return chain.from_iterable(_swept(case, found) for case in chosen)
    return chain((HEADER,), (_row(case, timing.measure(case, found)) for case in chosen))


def _row(case: cases.Case, found: timing.Measured) -> str:
    share = found.floor_us / found.ours_us
    met = "yes" if share >= cases.GOAL else "**no**"
    scaled = "" if found.scaled_us is None else f"{found.scaled_us:.1f}"
    return rows.row(
        case.name, f"{found.floor_us:.1f}", f"{found.whole_us:.1f}", scaled, f"{found.ours_us:.1f}", f"{share:.1%}",
        f"{cases.GOAL:.0%} {met}", f"{found.error:.1e}", f"{found.quantised:.1e}",
    )  # fmt: skip


def _swept(case: cases.Case, found: Rates) -> Iterator[str]:
    problem = problems.make(case, timing.DEVICE, 1)
    out = torch.empty(case.rows, case.channels, dtype=torch.bfloat16, device=timing.DEVICE)
    cuts = (
        rows.Cut(
            f"{plan.channels} x {plan.depth}, {plan.stages} stages, {plan.warps} warps",
            timing.time_of(problem, plan, out),
        )
        for plan in candidates(shape_of(problem.x, problem.weight))
    )
    return rows.sweep(case.name, timing.floor_us(case, found), cuts)
