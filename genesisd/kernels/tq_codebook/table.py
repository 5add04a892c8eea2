"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from genesisd.kernels.replays import Rates, graph_us
from genesisd.kernels.tq_codebook import cases, timing
from genesisd.kernels.tq_codebook.launch import shape_of
from genesisd.kernels.tq_codebook.plan import candidates
from genesisd.kernels.tq_verify.problems import error

HEADER = (
    "| cache kind, query heads / KV heads / dim | query tokens | floor us | upstream us | ours us | times faster | of the floor | error, upstream's |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it; with ``sweep`` the times of all cuts instead."""
    theirs = None
    if upstream is not None and not sweep:
        from genesisd.kernels.tq_codebook.upstream import Upstream

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
    errors = "" if found.error is None else f"{found.error:.1e}, {found.upstream_error:.1e}"
    count = case.query_lens[0]
    return f"| {case.name} | {count} | {found.floor_us:.1f} | {them} | {found.ours_us:.1f} | {faster} | {share:.1%} | {errors} |"


def _swept(case: cases.Case, rates: Rates) -> Iterator[str]:
    turns = timing.turns_of(case)
    floor = timing.floor_us(case, rates)
    shape = shape_of(turns[0].query, turns[0].cache, len(case.lens), turns[0].max_query_len)
    wanted = None
    for number, plan in enumerate(candidates(shape)):
        run = timing.prepared(turns, plan)
        wanted = run(0).double() if wanted is None else wanted
        off = error(run(0), wanted)
        us = graph_us(run, 16)
        cut = f"{plan.rows} rows, {plan.tokens} tokens, {plan.stages} stages, {plan.warps} warps, {plan.splits} splits"
        mark = " (the plan)" if number == 0 else ""
        wrong = "" if off < cases.TOLERANCE else f", WRONG by {off:.1e}"
        yield f"{case.name}, {case.query_lens[0]} query tokens: {cut}{mark}: {us:.1f} us, {floor / us:.1%}{wrong}"
