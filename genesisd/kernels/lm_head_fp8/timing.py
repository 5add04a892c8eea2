"""Our kernel beside the layer's own product on one case, and the floor under both."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from genesisd.kernels.lm_head_fp8 import cases, problems
from genesisd.kernels.lm_head_fp8.launch import lm_head_fp8, shape_of
from genesisd.kernels.lm_head_fp8.plan import Plan, plan_for
from genesisd.kernels.lm_head_fp8.reference import reference
from genesisd.kernels.replays import Rates, graph_us
from genesisd.kernels.trying import error, seed

SPREAD = 1.2e9
"""Bytes over which repeated runs rotate: many times the second-level cache."""


DEVICE = "cuda"


@dataclass(frozen=True)
class Measured:
    """Microseconds, and errors: of the sums, and of FP8 weights instead of those that were loaded."""

    floor_us: float
    ours_us: float
    whole_us: float
    """Bfloat16 weights, by torch (cuBLAS)."""
    scaled_us: float | None
    """FP8 weights and FP8 activations, by torch; None where it has no such product."""
    error: float
    quantised: float


def floor_us(case: cases.Case, found: Rates) -> float:
    """The weights once, with their scales, the activations and the logits, over the copy rate."""
    moved = case.hidden * case.channels + 4 * case.channels + 2 * case.rows * (case.hidden + case.channels)
    return moved / found.copy * 1e6


def measure(case: cases.Case, found: Rates) -> Measured:
    """One case, all of it fresh."""
    problem = problems.make(case, DEVICE, seed())
    out = torch.full((case.rows, case.channels), float("nan"), dtype=torch.bfloat16, device=DEVICE)
    plan = plan_for(shape_of(problem.x, problem.weight))
    ours_us = time_of(problem, plan, out)
    expected = reference(*problem.arguments())
    wrong = error(out, expected)
    quantised = error(reference(problem.x, problem.whole, torch.ones_like(problem.scales)), expected)
    return Measured(floor_us(case, found), ours_us, _whole_us(problem, out), _scaled_us(problem), wrong, quantised)


def time_of(problem: problems.Problem, plan: Plan, out: torch.Tensor) -> float:
    """Microseconds of one cut."""
    weights = copies(problem.weight)
    return graph_us(
        lambda i: lm_head_fp8(problem.x, weights[i % len(weights)], problem.scales, plan=plan, out=out),
        2 * len(weights),
    )


def copies(weight: torch.Tensor) -> list[torch.Tensor]:
    """The weights as often as it takes for none of them to be found in a cache."""
    count = max(1, math.ceil(SPREAD / (weight.numel() * weight.element_size())))
    return [weight, *(weight.clone() for _ in range(count - 1))]


def _whole_us(problem: problems.Problem, out: torch.Tensor) -> float:
    weights = copies(problem.whole)
    return graph_us(lambda i: torch.mm(problem.x, weights[i % len(weights)].T, out=out), 2 * len(weights))


def _scaled_us(problem: problems.Problem) -> float | None:
    """The activations are quantised within the time: the layer gets them in bfloat16."""
    weights = copies(problem.weight)
    try:
        return graph_us(_scaled(problem, weights), 2 * len(weights))
    except (RuntimeError, ValueError):
        return None


def _scaled(problem: problems.Problem, weights: list[torch.Tensor]) -> Callable[[int], torch.Tensor]:
    def run(i: int) -> torch.Tensor:
        scale = problem.x.abs().amax(1, keepdim=True).float() / 448
        x = (problem.x / scale).to(torch.float8_e4m3fn)
        return torch._scaled_mm(  # noqa: SLF001 - torch has no other name for it
            x, weights[i % len(weights)].T, scale_a=scale, scale_b=problem.scales[None, :], out_dtype=torch.bfloat16
        )

    return run
