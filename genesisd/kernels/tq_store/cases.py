"""The shapes that the tests and the benchmark share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

TIES = 0.01
"""Of the nibbles: how many may be off by one on a device, whose approximate division decides ties otherwise than the
reference's. Numbers of 8 significant bits make many ties."""


@dataclass(frozen=True)
class Case:
    """A batch of new tokens, and the cache that they go to."""

    name: str
    tokens: int
    heads: int
    dim: int
    page: int = 16
    activations: str = "bfloat16"
    fp8_format: str = "e4nv"
    slots: str = "int64"
    skipped: str = "some"
    """Whose slot is negative: "some", "none" or "all"."""
    wide: bool = False
    """Keys and values lie between other heads in one tensor, as the layer before leaves them."""
    padded: bool = False
    """The cache's pages are further apart than their bytes."""
    size: float = 1.0
    values: str = "usual"
    """"alike": all of a head's values are the same. "few": they are eighths, so that many quotients are ties."""


def edges(tokens: int, fp8_format: str) -> tuple[Case, ...]:
    """Small and odd: one token, none, odd heads and sizes, padding, all types, numbers beyond the format's range."""
    shapes: tuple[tuple[str, tuple[int, int, int], dict[str, Any]], ...] = (
        ("one token", (1, 1, 256), {}),
        ("no token", (0, 2, 128), {}),
        ("one head", (tokens, 1, 256), {}),
        ("eight heads", (tokens, 8, 128), {"wide": True}),
        ("three heads", (tokens, 3, 128), {}),
        ("five heads, dim 96", (tokens, 5, 96), {"wide": True}),
        ("dim 64", (tokens, 2, 64), {}),
        ("dim 72", (tokens, 2, 72), {}),
        ("dim 320", (tokens, 1, 320), {}),
        ("dim 512", (tokens, 2, 512), {}),
        ("pages of 48", (tokens, 2, 128), {"page": 48}),
        ("pages of 7", (tokens, 2, 128), {"page": 7}),
        ("pages apart", (tokens, 2, 128), {"padded": True}),
        ("float16", (tokens, 2, 128), {"activations": "float16"}),
        ("float32", (tokens, 2, 128), {"activations": "float32"}),
        ("int32 slots", (tokens, 2, 128), {"slots": "int32"}),
        ("nothing skipped", (tokens, 2, 128), {"skipped": "none"}),
        ("all skipped", (tokens, 2, 128), {"skipped": "all"}),
        ("tiny", (tokens, 2, 128), {"size": 1e-4}),
        ("vanishing", (tokens, 2, 128), {"size": 1e-9}),
        ("huge", (tokens, 2, 128), {"size": 1e4}),
        ("values alike", (tokens, 2, 128), {"values": "alike"}),
        ("ties", (tokens, 2, 128), {"values": "few"}),
    )
    return tuple(Case(f"{name}, {fp8_format}", *shape, fp8_format=fp8_format, **rest) for name, shape, rest in shapes)


CPU_EDGES = edges(21, "e4nv") + edges(21, "e4b15")
GPU_EDGES = edges(777, "e4nv") + edges(777, "e4b15")
BENCHED = tuple(
    Case(f"{heads} x {dim}, {tokens} token{'s' if tokens > 1 else ''}", tokens, heads, dim, skipped="none", wide=True)
    for heads, dim in ((1, 256), (2, 256), (8, 128))
    for tokens in (1, 8, 48, 512, 8192)
)
