"""The shapes that the tests and the benchmark share, and how far from the reference an output may be."""

from __future__ import annotations

from dataclasses import dataclass

TOLERANCE = {"float32": 1e-4, "bfloat16": 5e-3, "float16": 5e-4}
"""Of norm(out - reference) / norm(reference), by the output's type: more than its rounding (the interpreter cuts bfloat16 off); of float32, what the units cut off."""
GOAL = 0.75


@dataclass(frozen=True)
class Case:
    """Rows of activations before a vocabulary."""

    name: str
    rows: int
    hidden: int
    channels: int
    activations: str = "bfloat16"
    out: str = "float32"
    weights: str = "usual"
    """"outlier": one weight of each channel is so great that all others become subnormals. "zero": every third channel
    is zero."""
    size: float = 1.0
    """Of the activations."""


def edges(hidden: int, channels: int) -> tuple[Case, ...]:
    """Small and odd: every number of rows, no rows, channels beyond the last tile, hidden sizes beyond the last step."""
    return (
        *(Case(f"{rows} rows", rows, hidden, channels) for rows in range(1, 9)),
        Case("no rows", 0, hidden, channels),
        Case("9 rows", 9, hidden, channels),
        Case("33 rows", 33, hidden, channels),
        Case("70 rows", 70, hidden, channels),
        Case("one channel", 3, hidden, 1),
        Case("a channel short of a tile", 2, hidden, 127),
        Case("a channel over a tile", 2, hidden, 129),
        Case("narrower than a step", 2, 48, channels),
        Case("a step and 16", 5, 272, channels),
        Case("float16", 4, hidden, channels, activations="float16"),
        Case("float16 out", 4, hidden, channels, activations="float16", out="float16"),
        Case("bfloat16 out", 4, hidden, channels, out="bfloat16"),
        Case("subnormal weights", 4, hidden, channels, weights="outlier"),
        Case("subnormal weights, float16", 4, hidden, channels, activations="float16", weights="outlier"),
        Case("channels of zeros", 4, hidden, channels, weights="zero"),
        Case("tiny activations", 2, hidden, channels, size=1e-20),
        Case("huge activations", 2, hidden, channels, size=1e20),
    )


CPU_EDGES = edges(512, 300)
GPU_EDGES = edges(2048, 18993)
BENCHED = tuple(
    Case(f"{hidden} x {channels}, {rows} row{'s' if rows > 1 else ''}", rows, hidden, channels, out="bfloat16")
    for hidden in (2048, 4096, 5120)
    for channels in (151936, 248320)
    for rows in (1, 2, 4, 8)
)
