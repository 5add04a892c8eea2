"""What the tests of all operations share: fresh seeds, how far an output is off, graphs that serve other inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch


def seed() -> int:
    """A fresh one, by which inputs can be drawn again."""
    return int(torch.randint(2**31, ()).item())


def error(out: torch.Tensor, expected: torch.Tensor) -> float:
    """norm(out - expected) / norm(expected); not a number where anything was left unwritten."""
    norm = expected.norm().item()
    return ((out.double() - expected).norm() / norm).item() if norm else out.double().norm().item()


def replayed(
    run: Callable[[], object], out: torch.Tensor, others: Sequence[tuple[torch.Tensor, float]]
) -> torch.Tensor:
    """What a graph leaves in ``out`` that was captured while inputs held others' numbers: it must not keep these.

    ``others`` are inputs, each with the number that fills it meanwhile. They hold their own again before the replay, and
    ``out`` holds NaN.
    """
    own = [tensor.clone() for tensor, _ in others]
    run()
    for tensor, number in others:
        tensor.fill_(number)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    for (tensor, _), held in zip(others, own, strict=True):
        tensor.copy_(held)
    out.fill_(float("nan"))
    graph.replay()
    return out
