"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_verify import cases, timing
from genesisd.kernels.tq_verify.goals import goal_of

HEADER = (
    "| query heads / KV heads / dim | query tokens | floor us | upstream us | ours us | times faster | of the floor | goal | error, upstream's |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it. There is one cut a shape: nothing to sweep."""
    theirs = None
    if upstream is not None:
        from genesisd.kernels.tq_verify.upstream import Upstream

        theirs = Upstream(upstream)
    if sweep:
        return
    yield HEADER
    for case in chosen:
        yield _row(case, found, theirs)


def _row(case: cases.Case, rates: Rates, theirs: object | None) -> str:
    found = timing.measure(case, rates, theirs)
    count = case.query_lens[0]
    them = "" if found.upstream_us is None else f"{found.upstream_us:.1f}"
    faster = "" if found.upstream_us is None else f"x{found.upstream_us / found.ours_us:.1f}"
    share = found.floor_us / found.ours_us
    goal = goal_of(case)
    met = "" if goal is None else f"{goal[0]} {'yes' if goal[1](share, found.ours_us) else '**no**'}"
    errors = "" if found.error is None else f"{found.error:.1e}, {found.upstream_error:.1e}"
    return f"| {case.name} | {count} | {found.floor_us:.1f} | {them} | {found.ours_us:.1f} | {faster} | {share:.1%} | {met} | {errors} |"
