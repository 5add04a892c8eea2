"""Our kernel and the engine's on one case, and the floor under them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch

from genesisd.kernels.replays import SPREAD, Rates, graph_us
from genesisd.kernels.tq_codebook import cases, problems
from genesisd.kernels.tq_codebook.checking import expected
from genesisd.kernels.tq_codebook.launch import scratch_for, shape_of, tq_codebook
from genesisd.kernels.tq_codebook.layout import layout_of
from genesisd.kernels.tq_codebook.plan import Plan, plan_for
from genesisd.kernels.tq_verify.timing import Measured, every_table
from genesisd.kernels.trying import error, seed

DEVICE = "cuda"


def bytes_of(case: cases.Case) -> int:
    """The cache's bytes, each once."""
    return sum(case.lens) * case.kv_heads * layout_of(case.kind, case.dim).slot_bytes


def floor_us(case: cases.Case, found: Rates) -> float:
    """The cache's bytes once over the copy rate, or the operations over the rate of products, whichever is longer."""
    computed = 4 * sum(case.lens) * case.query_lens[0] * case.heads * case.dim
    return max(bytes_of(case) / found.copy, computed / found.products) * 1e6


def turns_of(case: cases.Case) -> list[problems.Problem]:
    """The same problem over so many tables of one cache that runs which follow each other share no bytes."""
    spare = max(1, min(16, math.ceil(SPREAD / bytes_of(case))))
    problem = problems.make(case, DEVICE, seed=seed(), spare=spare)
    return [replace(problem, table=table) for table in every_table(problem, spare)]


def prepared(turns: list[problems.Problem], plan: Plan | None = None) -> Callable[[int], torch.Tensor]:
    """One run of ours, without allocation."""
    one = turns[0]
    plan = plan or plan_for(shape_of(one.query, one.cache, len(one.case.lens), one.max_query_len))
    held = {"plan": plan, "scratch": scratch_for(plan, one.query), "out": torch.empty_like(one.query)}

    def run(i: int) -> torch.Tensor:
        turn = turns[i % len(turns)]
        return tq_codebook(*turn.arguments(), **turn.named(), max_query_len=turn.max_query_len, **held)

    return run


def measure(case: cases.Case, found: Rates, theirs) -> Measured:
    """One case: ours, upstream's if its kernel is given, and the errors of both at the shortest context."""
    turns = turns_of(case)
    ours = prepared(turns)
    ours_us, upstream_us = graph_us(ours, 16), None
    errors: tuple[float | None, float | None] = (None, None)
    if theirs is not None:
        run = theirs.prepared(turns)
        upstream_us = graph_us(run, 4 if sum(case.lens) < 2**18 else 1, samples=5)
        if max(case.lens) <= 8192 and len(case.lens) == 1:
            wanted = expected(turns[0])
            errors = (error(ours(0), wanted), error(run(0), wanted))
    return Measured(floor_us(case, found), ours_us, upstream_us, *errors)
