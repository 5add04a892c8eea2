"""The tests that need the real device: what the benchmark runs before it prints anything."""

from __future__ import annotations

from pathlib import Path

import torch

from genesisd.kernels.tq_store import cases, problems
from genesisd.kernels.tq_store.comparing import difference
from genesisd.kernels.tq_store.launch import shape_of, tq_store
from genesisd.kernels.tq_store.plan import Plan, candidates
from genesisd.kernels.tq_store.reference import reference
from genesisd.kernels.tq_verify.guards import expected_format
from genesisd.kernels.trying import seed
from genesisd.kernels.upstreams import engine_s


def failures(device: str, upstream: Path | None = None) -> list[str]:
    """What is wrong on this device, a line each; nothing if all is well. Inputs are drawn anew each time.

    With a tree the bytes must also be those of the engine's own kernel, ties and all.
    """
    format_ = expected_format(torch.cuda.get_device_capability())
    chosen = [case for case in cases.GPU_EDGES if case.fp8_format == format_]
    found = [failure(case, device, ties=cases.TIES) for case in chosen]
    found += [failure(every_number(format_), device, plan, ties=cases.TIES) for plan in _plans(device, format_)]
    theirs = engine_s("tq_store", upstream)
    if theirs is not None:
        found += [unlike(case, theirs, device) for case in (*chosen, every_number(format_)) if not case.padded]
    return [line for line in found if line is not None]


def failure(case: cases.Case, device: str, plan: Plan | None = None, ties: float = 0.0) -> str | None:
    """Why a case failed, or None. All bytes of the cache are compared, also those that must stay."""
    drawn = seed()
    problem = made(case, device, drawn)
    expected = reference(*problem.arguments(), fp8_format=case.fp8_format)
    tq_store(*problem.arguments(), fp8_format=case.fp8_format, plan=plan)
    found = difference(problem.cache, expected, case.dim, ties)
    return None if found is None else f"{case.name}: {found} (seed {drawn}, {plan or 'its own plan'})"


def unlike(case: cases.Case, theirs, device: str) -> str | None:
    """How the cache differs from what the engine's kernel made of the same inputs, or None: to the byte."""
    problem = made(case, device, seed())
    expected = problem.cache.clone()
    theirs.store(problem.key, problem.value, expected, problem.slot_mapping)
    tq_store(*problem.arguments(), fp8_format=case.fp8_format)
    found = difference(problem.cache, expected, case.dim)
    return None if found is None else f"{case.name}: not the engine's bytes: {found}"


def made(case: cases.Case, device: str, seed: int) -> problems.Problem:
    """The case's inputs; where it is that of every number, they are these."""
    problem = problems.make(case, device, seed)
    if case.name.startswith("every bfloat16"):
        bits = torch.arange(2**16, device=device).to(torch.int16).view(torch.bfloat16)
        bits = torch.where(bits.isfinite(), bits, 0)
        problem.key[:] = bits.view(problem.key.shape)
    return problem


def every_number(fp8_format: str) -> cases.Case:
    """All finite bfloat16 numbers as keys."""
    return cases.Case(f"every bfloat16, {fp8_format}", 256, 1, 256, fp8_format=fp8_format, skipped="none")


def _plans(device: str, fp8_format: str) -> tuple[Plan, ...]:
    return candidates(shape_of(problems.make(every_number(fp8_format), device, 1).key))
