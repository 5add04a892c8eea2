"""The tests that need the real device: what the benchmark runs before it prints anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from genesisd.kernels.tq_verify import cases, problems
from genesisd.kernels.tq_verify.guards import expected_format
from genesisd.kernels.tq_verify.launch import scratch_for, shape_of, tq_verify
from genesisd.kernels.tq_verify.plan import Plan, plan_for, ways
from genesisd.kernels.tq_verify.reference import reference
from genesisd.kernels.trying import error, replayed, seed

CAPTURED = (
    cases.Case("captured graph", 8, 1, 128, (5000, 70, 1), (3, 3, 3)),
    cases.Case("captured graph, raw tail", 8, 1, 128, (5000, 70, 1), (3, 3, 3), tail=True),
    cases.Case("graph captured over a short batch", 16, 2, 256, (60000, 70, 1), (6, 6, 6)),
)


def failures(device: str, _upstream: Path | None = None) -> list[str]:
    """What is wrong on this device, a line each; nothing if all is well. Inputs are drawn anew each time."""
    found = [failure(case, device) for case in cases.GPU_EDGES]
    found += [captured(case, device) for case in CAPTURED]
    return [line for line in found if line is not None]


def captured(case: cases.Case, device: str) -> str | None:
    """Why a graph captured over one token a sequence does not serve other lengths and pages, or None."""
    problem = problems.make(case, device, seed())
    plan = planned(problem)
    scratch, out = scratch_for(plan, problem.query), torch.empty_like(problem.query)
    named = {
        "max_query_len": problem.max_query_len,
        "scale": problem.scale,
        "plan": plan,
        "scratch": scratch,
        "out": out,
    }
    replayed(
        lambda: tq_verify(*problem.arguments(), **named, **problem.tail),
        out,
        [(problem.lens, 1), (problem.table, 0)],
    )
    found = error(out, reference(*problem.arguments(), scale=problem.scale, **problem.tail))
    return None if found < cases.TOLERANCE else f"{case.name}: error {found:.2e}"


def failure(case: cases.Case, device: str) -> str | None:
    """Why a case failed, or None."""
    if case.fp8_format != expected_format(torch.cuda.get_device_capability()):
        return None
    drawn = seed()
    problem = problems.make(case, device, drawn)
    expected = reference(*problem.arguments(), scale=problem.scale, fp8_format=case.fp8_format, **problem.tail)
    for plan in ways(planned(problem)):
        found = error(poisoned(problem, plan=plan), expected)
        if not found < cases.TOLERANCE:
            how = " with whole blocks of rows" if plan.narrow and not plan.narrow_to else ""
            return f"{case.name}{how}: error {found:.2e}, allowed {cases.TOLERANCE:.0e} (seed {drawn})"
    return None


def planned(problem: problems.Problem, capability: tuple[int, int] | None = None) -> Plan:
    """The cut of its shape; ``capability`` takes the place of the device's."""
    batch, tail = len(problem.case.lens), bool(problem.tail)
    shape = shape_of(problem.query, problem.cache, batch, problem.max_query_len, tail=tail)
    return plan_for(shape if capability is None else replace(shape, capability=capability))


def poisoned(
    problem: problems.Problem,
    *,
    capability: tuple[int, int] | None = None,
    splits: int | None = None,
    plan: Plan | None = None,
) -> torch.Tensor:
    """The kernel's output where output and scratch held NaN before.

    ``capability`` and ``splits`` take the place of the device's and the plan's.
    """
    plan = plan or planned(problem, capability)
    plan = replace(plan, splits=splits or plan.splits)
    scratch = scratch_for(plan, problem.query)
    scratch.part.fill_(float("nan"))
    scratch.lse.fill_(float("nan"))
    out = torch.full_like(problem.query, float("nan"))
    return tq_verify(
        *problem.arguments(),
        max_query_len=problem.max_query_len,
        scale=problem.scale,
        fp8_format=problem.case.fp8_format,
        plan=plan,
        scratch=scratch,
        out=out,
        **problem.tail,
    )
