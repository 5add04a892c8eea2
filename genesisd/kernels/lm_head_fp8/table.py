"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from genesisd.kernels.lm_head_fp8 import cases, problems, timing
from genesisd.kernels.lm_head_fp8.launch import shape_of
from genesisd.kernels.lm_head_fp8.plan import candidates
from genesisd.kernels.replays import Rates

HEADER = (
    "| hidden x vocabulary, rows | floor us | bfloat16 us | torch FP8 us | ours us | of the floor | goal | error | of FP8 |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def lines(found: Rates, chosen: list[cases.Case], _upstream: object | None, *, sweep: bool) -> Iterator[str]:
    """A line a case; with ``sweep`` the times of all cuts instead."""
    if not sweep:
        yield HEADER
    for case in chosen:
        yield from _swept(case, found) if sweep else (_row(case, found),)


def _row(case: cases.Case, found: Rates) -> str:
    one = timing.measure(case, found)
    share = one.floor_us / one.ours_us
    met = "yes" if share >= cases.GOAL else "**no**"
    scaled = "" if one.scaled_us is None else f"{one.scaled_us:.1f}"
    return (
        f"| {case.name} | {one.floor_us:.1f} | {one.whole_us:.1f} | {scaled} | {one.ours_us:.1f} | {share:.1%} | "
        f"{cases.GOAL:.0%} {met} | {one.error:.1e} | {one.quantised:.1e} |"
    )


def _swept(case: cases.Case, found: Rates) -> Iterator[str]:
    problem = problems.make(case, timing.DEVICE, 1)
    out = torch.empty(case.rows, case.channels, dtype=torch.bfloat16, device=timing.DEVICE)
    floor = timing.floor_us(case, found)
    for number, plan in enumerate(candidates(shape_of(problem.x, problem.weight))):
        us = timing.time_of(problem, plan, out)
        tile = f"{plan.channels} x {plan.depth}, {plan.stages} stages, {plan.warps} warps"
        yield f"{case.name}: {tile}{' (the plan)' if number == 0 else ''}: {us:.1f} us, {floor / us:.1%}"
