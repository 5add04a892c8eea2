"""The tests that need the real device: what the benchmark runs before it prints anything."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch

from genesisd.kernels.tq_codebook import cases, problems
from genesisd.kernels.tq_codebook.launch import scratch_for, shape_of, tq_codebook
from genesisd.kernels.tq_codebook.plan import Plan, plan_for
from genesisd.kernels.tq_codebook.reference import reference
from genesisd.kernels.trying import error, replayed, seed
from genesisd.kernels.upstreams import engine_s


def failures(device: str, upstream: Path | None = None) -> list[str]:
    """What is wrong on this device, a line each; nothing if all is well. Inputs are drawn anew each time.

    With a tree, the engine's own store fills a cache, and its attention over it must be ours.
    """
    found = [failure(case, device) for case in cases.GPU_EDGES]
    found += [captured(device, kind) for kind in cases.KEY_BITS]
    theirs = engine_s("tq_codebook", upstream, device)
    if theirs is not None:
        found += [unlike(case, theirs, device) for case in uniform()]
    return [line for line in found if line is not None]


def uniform() -> list[cases.Case]:
    """A case of each kind whose sequences have as many query tokens each: the engine's kernel is run with such."""
    return [cases.Case(f"{kind}: the engine's", kind, 16, 2, 128, (3000, 70), (4, 4)) for kind in cases.KEY_BITS]


def failure(case: cases.Case, device: str) -> str | None:
    """Why a case failed, or None."""
    drawn = seed()
    problem = problems.make(case, device, drawn)
    found = error(poisoned(problem), expected(problem))
    if found < cases.TOLERANCE:
        return None
    return f"{case.name}: error {found:.2e}, allowed {cases.TOLERANCE:.0e} (seed {drawn})"


def expected(problem: problems.Problem) -> torch.Tensor:
    """The float64 reference of the same cache."""
    named = problem.named() | {"codebook": problem.codebook}
    del named["tables"]
    return reference(*problem.arguments(), **named)


def poisoned(problem: problems.Problem, *, splits: int | None = None, plan: Plan | None = None) -> torch.Tensor:
    """The kernel's output where output and scratch held NaN before; ``splits`` takes the place of the plan's."""
    shape = shape_of(problem.query, problem.cache, len(problem.case.lens), problem.max_query_len)
    plan = plan or plan_for(shape)
    plan = replace(plan, splits=splits or plan.splits)
    scratch = scratch_for(plan, problem.query)
    for held in (scratch.turned, scratch.factors, scratch.part, scratch.lse):
        held.fill_(float("nan"))
    out = torch.full_like(problem.query, float("nan"))
    return tq_codebook(
        *problem.arguments(),
        **problem.named(),
        max_query_len=problem.max_query_len,
        plan=plan,
        scratch=scratch,
        out=out,
    )


def captured(device: str, kind: str) -> str | None:
    """Why a graph captured over one token a sequence does not serve other lengths and pages, or None."""
    case = cases.Case("captured", kind, 8, 1, 128, (5000, 70, 1), (3, 3, 3))
    problem = problems.make(case, device, seed())
    plan = plan_for(shape_of(problem.query, problem.cache, 3, 3))
    out = torch.empty_like(problem.query)
    held = {"plan": plan, "scratch": scratch_for(plan, problem.query), "out": out}
    replayed(
        lambda: tq_codebook(*problem.arguments(), **problem.named(), max_query_len=3, **held),
        out,
        [(problem.lens, 1), (problem.table, 0)],
    )
    found = error(out, expected(problem))
    return None if found < cases.TOLERANCE else f"{kind}: captured graph: error {found:.2e}"


def unlike(case: cases.Case, theirs, device: str) -> str | None:
    """Why our attention over a cache that the engine's own store filled is not the engine's own, or None."""
    problem = problems.make(case, device, seed())
    theirs.fill(problem)
    found = error(poisoned(problem), theirs.attention(problem).double())
    return None if found < cases.TOLERANCE else f"{case.name}: not the engine's attention: {found:.2e}"
