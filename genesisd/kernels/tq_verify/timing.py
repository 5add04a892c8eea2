"""Our kernel and the engine's on one case, and the floor under them."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import torch

from genesisd.kernels.replays import Rates, graph_us
from genesisd.kernels.tq_verify import cases, problems
from genesisd.kernels.tq_verify.launch import scratch_for, shape_of, tq_verify
from genesisd.kernels.tq_verify.layout import K8V4
from genesisd.kernels.tq_verify.plan import plan_for
from genesisd.kernels.tq_verify.reference import reference

SPREAD = 256e6
"""Bytes over which repeated runs rotate: several times the second-level cache."""


@dataclass(frozen=True)
class Measured:
    """Microseconds, and errors against the reference where it was small enough to compute."""

    floor_us: float
    ours_us: float
    upstream_us: float | None
    error: float | None
    upstream_error: float | None


def floor_us(case: cases.Case, found: Rates) -> float:
    """The cache's bytes once over the copy rate, or the operations over the rate of products, whichever is longer."""
    tokens = sum(case.lens)
    moved = tokens * case.kv_heads * K8V4(case.dim).slot_bytes / found.copy
    computed = 4 * tokens * case.query_lens[0] * case.heads * case.dim / found.products
    return max(moved, computed) * 1e6


def measure(case: cases.Case, found: Rates, theirs: object | None) -> Measured:
    """One case: ours, upstream's if its kernel is given, and the errors of both at the shortest context.

    Upstream's stands beside our fastest form alone, and knows no tail.
    """
    size = sum(case.lens) * case.kv_heads * K8V4(case.dim).slot_bytes
    spare = max(1, min(16, math.ceil(SPREAD / size)))
    seed = int(torch.randint(2**31, ()).item())
    problem = problems.make(case, "cuda", seed, spare, written=True)  # every page stands anywhere in the tables
    tables = every_table(problem, spare)
    shape = shape_of(problem.query, problem.cache, len(case.lens), problem.max_query_len, tail=case.tail)
    plan = plan_for(replace(shape, warp_groups=False) if case.triton else shape)
    scratch, out = scratch_for(plan, problem.query), torch.empty_like(problem.query)

    def ours(i: int) -> torch.Tensor:
        turn = replace(problem, table=tables[i % spare]).arguments()
        return tq_verify(
            *turn, max_query_len=problem.max_query_len, scale=problem.scale, plan=plan, scratch=scratch, out=out,
            **problem.tail,
        )  # fmt: skip

    ours_us = graph_us(ours, 16)
    upstream_us = None
    errors: tuple[float | None, float | None] = (None, None)
    if theirs is not None and not case.triton:
        run = theirs.prepared(problem, tables)
        upstream_us = graph_us(run, 4 if sum(case.lens) < 2**18 else 1, samples=5)
        if max(case.lens) <= 8192 and len(case.lens) == 1:
            problem.table = tables[0]
            expected = reference(*problem.arguments(), scale=problem.scale)
            errors = (problems.error(ours(0), expected), problems.error(run(0), expected))
    return Measured(floor_us(case, found), ours_us, upstream_us, *errors)


def every_table(problem: problems.Problem, spare: int) -> list[torch.Tensor]:
    """Page tables over all of the cache's pages: runs that follow each other share no bytes."""
    order = torch.randperm(problem.cache.shape[0], device="cuda").to(torch.int32)
    return list(order.view(spare, *problem.table.shape))
