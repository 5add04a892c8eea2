"""Our store and the engine's on one case, and the floor under them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from genesisd.kernels.replays import SPREAD, Rates, graph_us
from genesisd.kernels.tq_store import cases, problems
from genesisd.kernels.tq_store.launch import shape_of, tq_store
from genesisd.kernels.tq_store.plan import Plan, plan_for
from genesisd.kernels.tq_verify.layout import K8V4
from genesisd.kernels.trying import seed

DEVICE = "cuda"


@dataclass(frozen=True)
class Measured:
    """Microseconds."""

    floor_us: float
    ours_us: float
    upstream_us: float | None


def bytes_of(case: cases.Case) -> int:
    """Keys and values read once, slots and their numbers."""
    return case.tokens * (8 + case.heads * (4 * case.dim + K8V4(case.dim).slot_bytes))


def floor_us(case: cases.Case, found: Rates) -> float:
    """The bytes once over the copy rate. A few tokens are far above it: a launch alone takes longer."""
    return bytes_of(case) / found.copy * 1e6


def measure(case: cases.Case, found: Rates, theirs: object | None) -> Measured:
    """One case, all of it fresh."""
    turns = turns_of(case)
    upstream_us = None
    if theirs is not None:
        upstream_us = graph_us(lambda i: theirs.store(*turns[i % len(turns)].arguments()), len(turns))
    ours_us = time_of(turns, plan_for(shape_of(turns[0].key)))
    return Measured(floor_us(case, found), ours_us, upstream_us)


def turns_of(case: cases.Case) -> list[problems.Problem]:
    """So many inputs and caches that none is found in a cache of the device, 32 at most."""
    count = min(32, max(8, math.ceil(SPREAD / bytes_of(case))))
    return [problems.make(case, DEVICE, seed()) for _ in range(count)]


def time_of(turns: list[problems.Problem], plan: Plan) -> float:
    """Microseconds of one cut."""
    run: Callable[[int], None] = lambda i: tq_store(*turns[i % len(turns)].arguments(), plan=plan)  # noqa: E731
    return graph_us(run, len(turns))
