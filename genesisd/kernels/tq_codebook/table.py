"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from genesisd.kernels import rows
from genesisd.kernels.replays import Rates, graph_us
from genesisd.kernels.tq_codebook import cases, timing
from genesisd.kernels.tq_codebook.launch import shape_of
from genesisd.kernels.tq_codebook.plan import candidates
from genesisd.kernels.trying import error
from genesisd.kernels.upstreams import engine_s

HEADER = rows.header("cache kind, query heads / KV heads / dim", "query tokens", *rows.COMPARED, "error, upstream's")


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it; with ``sweep`` the times of all cuts instead."""
    if sweep:
        return chain.from_iterable(_swept(case, found) for case in chosen)
    theirs = engine_s("tq_codebook", upstream)
    return chain((HEADER,), (_row(case, timing.measure(case, found, theirs)) for case in chosen))


def _row(case: cases.Case, found: timing.Measured) -> str:
    return rows.row(case.name, str(case.query_lens[0]), *rows.compared(found), rows.errors(found))


def _swept(case: cases.Case, rates: Rates) -> Iterator[str]:
    name = f"{case.name}, {case.query_lens[0]} query tokens"
    return rows.sweep(name, timing.floor_us(case, rates), _cuts(case))


def _cuts(case: cases.Case) -> Iterator[rows.Cut]:
    """All of them over the same inputs; what one answers is held against the plan's own answer."""
    turns = timing.turns_of(case)
    shape = shape_of(turns[0].query, turns[0].cache, len(case.lens), turns[0].max_query_len)
    wanted = None
    for plan in candidates(shape):
        run = timing.prepared(turns, plan)
        wanted = run(0).double() if wanted is None else wanted
        off = error(run(0), wanted)
        words = (
            f"{plan.rows} rows, {plan.tokens} tokens, {plan.stages} stages, {plan.warps} warps, {plan.splits} splits"
        )
        yield rows.Cut(words, graph_us(run, 16), "" if off < cases.TOLERANCE else f", WRONG by {off:.1e}")
