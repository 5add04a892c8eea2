"""The shapes that the tests and the benchmark share, and how far from the reference an output may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from genesisd.kernels.tq_codebook.layout import KEY_BITS

TOLERANCE = 1e-2
"""Of norm(out - reference) / norm(reference); bfloat16's own rounding of the output is 1.7e-3."""


@dataclass(frozen=True)
class Case:
    """A batch: lengths, and query tokens of each sequence."""

    name: str
    kind: str
    heads: int
    kv_heads: int
    dim: int
    lens: tuple[int, ...]
    query_lens: tuple[int, ...]
    page: int = 16
    by_heads: bool = False
    """A head's tokens of a page follow each other, as some of the engine's releases lay their cache out."""
    padded: bool = False
    """Pages are further apart than their bytes."""
    key_scale: float = 1.0
    value_scale: float = 1.0


def edges(kind: str, lens: tuple[int, ...], wide: int) -> tuple[Case, ...]:
    """Small and odd: one token, a page less one and more one, empty sequences, ragged queries, odd groups and heads."""
    long, each = max(lens), len(lens)
    shapes: tuple[tuple[str, tuple[int, int, int], tuple[int, ...], tuple[int, ...], dict[str, Any]], ...] = (
        ("decode, group 8", (8, 1, wide), lens, (1,) * each, {}),
        ("verify, group 8", (8, 1, wide), lens, (6,) * each, {}),
        ("verify, group 6", (12, 2, wide), lens, (5,) * each, {}),
        ("verify, group 6, by heads", (12, 2, wide), lens, (5,) * each, {"by_heads": True}),
        ("verify, group 4, dim 64", (16, 4, 64), lens, (5,) * each, {}),
        ("decode, group 4, dim 64", (16, 4, 64), lens, (1,) * each, {"by_heads": True}),
        ("decode, group 3, dim 64", (6, 2, 64), lens, (1,) * each, {}),
        ("verify, group 16", (16, 1, 128), (long,), (6,), {}),
        ("verify, group 12", (24, 2, 128), lens, (4,) * each, {}),
        ("decode, group 5", (5, 1, 128), lens, (1,) * each, {}),
        ("verify, three KV heads", (12, 3, 128), lens, (3,) * each, {}),
        ("verify, three KV heads, by heads", (12, 3, 128), lens, (3,) * each, {"by_heads": True}),
        ("decode, widest", (4, 1, 2 * wide), (17, long), (1, 1), {}),
        ("verify, widest", (8, 1, 2 * wide), (long,), (6,), {}),
        ("verify, 16 tokens", (8, 1, 128), (long, 15, 17), (16, 1, 2), {}),
        ("ragged queries", (8, 1, 128), (17, long, 33, 1), (4, 1, 3, 1), {}),
        ("an empty sequence between", (8, 1, 128), (40, 0, long), (2, 0, 3), {}),
        ("padding of a captured graph", (8, 1, 128), (33, 0), (2, 2), {}),
        ("fewer tokens than queries", (8, 1, 128), (1, 3), (4, 4), {}),
        ("pages of 48", (8, 2, 128), (long, 47, 49), (3, 3, 3), {"page": 48}),
        ("pages of 112, by heads", (8, 2, 128), (long, 130), (2, 2), {"page": 112, "by_heads": True}),
        ("pages apart", (8, 2, 128), lens, (2,) * each, {"padded": True}),
        ("tiny values", (8, 1, 128), (long,), (4,), {"value_scale": 1e-3}),
        ("huge values", (8, 1, 128), (long,), (4,), {"value_scale": 1e4}),
        ("sharp attention", (8, 1, 128), (long,), (4,), {"key_scale": 30.0}),
        ("tiny keys", (8, 1, 128), (long,), (4,), {"key_scale": 1e-3}),
    )
    return tuple(
        Case(f"{kind}: {name}", kind, *shape, found, counts, **rest) for name, shape, found, counts, rest in shapes
    )


CPU_EDGES = tuple(case for kind in KEY_BITS for case in edges(kind, (1, 15, 70), wide=128))
GPU_EDGES = tuple(case for kind in KEY_BITS for case in edges(kind, (1, 15, 17, 8191, 80), wide=256))
BENCHED = tuple(
    Case(
        f"{kind}, {name}, B={batch}, {context // 1024}K",
        kind,
        heads,
        kv_heads,
        dim,
        (context,) * batch,
        (count,) * batch,
    )
    for kind in KEY_BITS
    for name, heads, kv_heads, dim, counts in (("8/1/256", 8, 1, 256, (6, 1)), ("32/8/128", 32, 8, 128, (5, 1)))
    for batch in (1, 8)
    for context in (8192, 32768, 131072)
    for count in counts
)
