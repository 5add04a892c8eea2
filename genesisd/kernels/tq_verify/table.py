"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from genesisd.kernels import rows
from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_verify import cases, timing
from genesisd.kernels.tq_verify.goals import goal_of
from genesisd.kernels.upstreams import engine_s

HEADER = rows.header("query heads / KV heads / dim", "query tokens", *rows.COMPARED, "goal", "error, upstream's")


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it. There is one cut a shape: nothing to sweep."""
    if sweep:
        return iter(())
    theirs = engine_s("tq_verify", upstream)
    return chain((HEADER,), (_row(case, timing.measure(case, found, theirs)) for case in chosen))


def _row(case: cases.Case, found: timing.Measured) -> str:
    goal = goal_of(case)
    met = goal is not None and goal[1](found.floor_us / found.ours_us, found.ours_us)
    told = "" if goal is None else f"{goal[0]} {'yes' if met else '**no**'}"
    return rows.row(case.name, str(case.query_lens[0]), *rows.compared(found), told, rows.errors(found))
