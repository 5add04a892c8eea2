"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_store import cases, timing
from genesisd.kernels.tq_store.launch import shape_of
from genesisd.kernels.tq_store.plan import candidates

HEADER = (
    "| KV heads x dim, new tokens | floor us | upstream us | ours us | times faster | of the floor |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it; with ``sweep`` the times of all cuts instead."""
    theirs = None
    if upstream is not None and not sweep:
        from genesisd.kernels.tq_store.upstream import Upstream

        theirs = Upstream(upstream)
    if not sweep:
        yield HEADER
    for case in chosen:
        yield from _swept(case, found) if sweep else (_row(case, found, theirs),)


def _row(case: cases.Case, rates: Rates, theirs: object | None) -> str:
    found = timing.measure(case, rates, theirs)
    them = "" if found.upstream_us is None else f"{found.upstream_us:.1f}"
    faster = "" if found.upstream_us is None else f"x{found.upstream_us / found.ours_us:.1f}"
    share = found.floor_us / found.ours_us
    return f"| {case.name} | {found.floor_us:.2f} | {them} | {found.ours_us:.1f} | {faster} | {share:.1%} |"


def _swept(case: cases.Case, rates: Rates) -> Iterator[str]:
    turns = timing.turns_of(case)
    floor = timing.floor_us(case, rates)
    for number, plan in enumerate(candidates(shape_of(turns[0].key))):
        us = timing.time_of(turns, plan)
        mark = " (the plan)" if number == 0 else ""
        yield f"{case.name}: {plan.rows} rows, {plan.warps} warps{mark}: {us:.1f} us, {floor / us:.1%}"
