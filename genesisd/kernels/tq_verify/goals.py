"""What was asked of tq_verify on one H200, shape by shape."""

from __future__ import annotations

from collections.abc import Callable

from genesisd.kernels.tq_verify.cases import Case


def goal_of(case: Case) -> tuple[str, Callable[[float, float], bool]] | None:
    """What was asked of a case: its words, and whether a share of the floor and a time in microseconds meet it.

    Nothing was asked of triton's forms where the one in CUDA serves.
    """
    if case.triton:
        return None
    batch, context, verify = len(case.lens), case.lens[0], case.query_lens[0] > 1
    if batch == 8 and context >= 32768:
        return ("50 %", lambda share, _: share >= 0.5) if verify else ("60 %", lambda share, _: share >= 0.6)
    if batch == 1 and context == 131072 and verify:
        return "25 %", lambda share, _: share >= 0.25
    if batch == 1 and context == 8192:
        return "15 us", lambda _, us: us <= 15
    return None
