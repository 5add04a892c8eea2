"""The shapes that the tests and the benchmark share, and how far from the reference an output may be."""

from __future__ import annotations

from dataclasses import dataclass, replace

TOLERANCE = 1e-2
"""Of norm(out - reference) / norm(reference); bfloat16's own rounding of the output is 1.7e-3."""


@dataclass(frozen=True)
class Case:
    """A batch: lengths, and query tokens of each sequence."""

    name: str
    heads: int
    kv_heads: int
    dim: int
    lens: tuple[int, ...]
    query_lens: tuple[int, ...]
    page: int = 16
    fp8_format: str = "e4nv"
    key_scale: float = 1.0
    value_scale: float = 1.0
    tail: bool = False
    """Query tokens come as keys and values of their own, and their slots hold what is no number."""
    by_heads: bool = False
    """A head's tokens of a page follow each other, instead of a token's heads."""
    triton: bool = False
    """Measured in triton also where the form in CUDA serves: the figure that one with a tail is held against."""


def edges(lens: tuple[int, ...], wide: int) -> tuple[Case, ...]:
    """Small and odd: one token, a page less one and more one, empty sequences, ragged queries, odd groups and sizes."""
    long = max(lens)
    return (
        Case("decode, group 8", 8, 1, wide, lens, (1,) * len(lens)),
        Case("verify, group 8", 8, 1, wide, lens, (6,) * len(lens)),
        Case("verify, group 6", 12, 2, wide, lens, (5,) * len(lens)),
        Case("verify, group 4, dim 64", 16, 4, 64, lens, (5,) * len(lens)),
        Case("decode, group 4, dim 64", 16, 4, 64, lens, (1,) * len(lens)),
        Case("verify, group 16", 16, 1, 128, (long,), (6,)),
        Case("decode, group 3, dim 64", 6, 2, 64, lens, (1,) * len(lens)),
        Case("verify, group 12", 24, 2, 128, lens, (4,) * len(lens)),
        Case("decode, group 5", 5, 1, 128, lens, (1,) * len(lens)),
        Case("verify, group 16, 16 tokens", 16, 1, 128, (long, 5), (16, 3)),
        Case("verify, three KV heads", 12, 3, 128, lens, (3,) * len(lens)),
        Case("verify, dim 96", 8, 2, 96, lens, (3,) * len(lens)),
        Case("verify, dim 192", 8, 2, 192, (17, long), (3, 3)),
        Case("decode, dim 320", 4, 1, 320, (17, long), (1, 1)),
        Case("decode, widest", 4, 1, 2 * wide, (17, long), (1, 1)),
        Case("verify, widest", 8, 1, 2 * wide, (long,), (6,)),
        Case("verify, 16 tokens", 8, 1, 128, (long, 15, 17), (16, 1, 2)),
        Case("ragged queries", 8, 1, 128, (17, long, 33, 1), (4, 1, 3, 1)),
        Case("an empty sequence between", 8, 1, 128, (40, 0, long), (2, 0, 3)),
        Case("padding of a captured graph", 8, 1, 128, (33, 0), (2, 2)),
        Case("fewer tokens than queries", 8, 1, 128, (1, 3), (4, 4)),
        Case("pages of 48", 8, 2, 128, (long, 47, 49), (3, 3, 3), page=48),
        Case("pages of 112", 8, 1, 128, (long, 130), (2, 2), page=112),
        Case("tiny values", 8, 1, 128, (long,), (4,), value_scale=1e-3),
        Case("huge values", 8, 1, 128, (long,), (4,), value_scale=1e4),
        Case("sharp attention", 8, 1, 128, (long,), (4,), key_scale=30.0),
        Case("verify, head-major pages", 12, 3, 128, lens, (3,) * len(lens), by_heads=True),
        Case("decode, head-major pages", 16, 2, wide, lens, (1,) * len(lens), by_heads=True),
        Case("verify, head-major pages, 8 KV heads", 32, 8, 128, (17, long), (5, 5), by_heads=True),
        Case("e4b15 keys", 8, 1, 128, lens, (3,) * len(lens), fp8_format="e4b15", key_scale=0.4),
    )


def with_tails(found: tuple[Case, ...]) -> tuple[Case, ...]:
    """Each case, and once more with a raw tail."""
    return (*found, *(replace(case, name=f"{case.name}, raw tail", tail=True) for case in found))


CPU_EDGES = (
    *with_tails(edges((1, 17, 70), wide=128)),
    Case("long, raw tail", 4, 1, 64, (1, 15, 17, 8191), (2, 2, 2, 3), tail=True),
)
GPU_EDGES = with_tails(edges((1, 15, 17, 8191, 80), wide=256))
_PLAIN = tuple(
    Case(f"{name}, B={batch}, {context // 1024}K", heads, kv_heads, dim, (context,) * batch, (count,) * batch)
    for name, heads, kv_heads, dim, counts in (
        ("8/1/256", 8, 1, 256, (6, 1)),
        ("16/2/256", 16, 2, 256, (6, 1)),
        ("12/2/256", 12, 2, 256, (5, 1)),
        ("32/8/128", 32, 8, 128, (5, 1)),
    )
    for batch in (1, 8)
    for context in (8192, 32768, 131072)
    for count in counts
)
_HEAD_MAJOR = tuple(
    replace(case, name=f"{case.name}, head-major", by_heads=True)
    for case in _PLAIN
    if case.name in {"16/2/256, B=8, 32K", "32/8/128, B=8, 32K"}
)
_IN_TRITON = tuple(
    replace(case, name=f"{case.name}, in triton{', raw tail' * tail}", tail=tail, triton=True)
    for case in _PLAIN
    for tail in (False, True)
    if case.name in {f"{shape}, B={size}" for shape in ("8/1/256", "32/8/128") for size in ("1, 8K", "8, 32K")}
)
BENCHED = (*_PLAIN, *_HEAD_MAJOR, *_IN_TRITON)
"""The grid, some of it with head-major pages, and what a raw tail costs beside the same form without one."""
