"""Times of graph replays, and what the card itself can do: what every operation's benchmark measures with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import triton

SPREAD = 256e6
"""Bytes over which repeated runs rotate: several times the second-level cache."""


@dataclass(frozen=True)
class Rates:
    """What the card was measured at: bytes a second copied (read and written), operations a second."""

    copy: float
    products: float


def rates() -> Rates:
    """Measure the card's two ceilings."""
    source = torch.empty(2**31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    copy_ms = triton.testing.do_bench(lambda: target.copy_(source), warmup=50, rep=200, return_mode="median")
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    product_ms = triton.testing.do_bench(lambda: a @ b, warmup=50, rep=200, return_mode="median")
    return Rates(2 * source.numel() / copy_ms * 1e3, 2 * 8192**3 / product_ms * 1e3)


def graph_us(run: Callable[[int], object], repeats: int, samples: int = 9) -> float:
    """Median time of one run, by replays of a captured graph of several."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        run(0)
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for i in range(repeats):
            run(i)
    times = []
    for _ in range(samples):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / repeats * 1e3)
    return sorted(times)[len(times) // 2]
