"""The rows of the benchmark's table, measured as they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from genesisd.kernels import rows
from genesisd.kernels.replays import Rates
from genesisd.kernels.tq_store import cases, timing
from genesisd.kernels.tq_store.launch import shape_of
from genesisd.kernels.tq_store.plan import candidates
from genesisd.kernels.upstreams import engine_s

HEADER = rows.header("KV heads x dim, new tokens", *rows.COMPARED)


def lines(found: Rates, chosen: list[cases.Case], upstream: Path | None, *, sweep: bool) -> Iterator[str]:
    """A line a case, beside the engine's kernel if a tree holds it; with ``sweep`` the times of all cuts instead."""
    if sweep:
        return chain.from_iterable(_swept(case, found) for case in chosen)
    theirs = engine_s("tq_store", upstream)
    return chain((HEADER,), (_row(case, timing.measure(case, found, theirs)) for case in chosen))


def _row(case: cases.Case, found: timing.Measured) -> str:
    return rows.row(case.name, *rows.compared(found, digits=2))


def _swept(case: cases.Case, rates: Rates) -> Iterator[str]:
    turns = timing.turns_of(case)
    cuts = (
        rows.Cut(f"{plan.rows} rows, {plan.warps} warps", timing.time_of(turns, plan))
        for plan in candidates(shape_of(turns[0].key))
    )
    return rows.sweep(case.name, timing.floor_us(case, rates), cuts)
