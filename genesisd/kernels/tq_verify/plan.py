"""How the work is cut: tile shape, form and number of splits, chosen once for a shape and fixed under a captured graph."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """One launch's cut."""

    form: str
    """"query-major": query rows are the M of the matrix products. "token-major": the cache's tokens are."""
    rows: int
    """Query rows (query tokens x heads of the group) of one program, padded to a power of two."""
    tokens: int
    """Tokens of one tile."""
    keys: str
    """"fp8": keys go to the matrix units as they are, the query split in two. "f16": keys are widened first."""
    stages: int
    warps: int
    splits: int
    """Programs that share one sequence's tokens."""
    chunk: int = 64
    """Fewest tokens worth a program of their own."""


@dataclass(frozen=True)
class Shape:
    """What a plan depends on."""

    batch: int
    kv_heads: int
    group: int
    head_dim: int
    max_query_len: int
    capability: tuple[int, int]
    processors: int


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def plan_for(shape: Shape) -> Plan:
    """The cut for a shape; figures that led to it are in docs/kernels.md."""
    rows = shape.max_query_len * shape.group
    wide = power_of_two(shape.head_dim) > 256
    if shape.capability < (9, 0):
        tile = _widened(rows, shape.head_dim)
    elif rows <= 32 and shape.head_dim <= 256:
        tile = _token_major(rows, shape.head_dim)
    else:
        tile = Plan("query-major", 64, 32, "fp8", 3, 8 if wide else 4, 1)
    blocks = -(-rows // tile.rows)
    resident = _resident(tile, shape)
    splits = max(1, shape.processors * resident // (shape.batch * shape.kv_heads * blocks))
    return Plan(tile.form, tile.rows, tile.tokens, tile.keys, tile.stages, tile.warps, splits, tile.chunk)


def _token_major(rows: int, head_dim: int) -> Plan:
    stages = 2 if head_dim <= 128 or rows > 16 else 3
    return Plan("token-major", max(8, power_of_two(rows)), 64, "fp8", stages, 4, 1)


def _widened(rows: int, head_dim: int) -> Plan:
    most = 16 if head_dim > 256 else 32 if head_dim > 128 else 64
    padded = min(max(16, power_of_two(rows)), most)
    tokens = 32 if head_dim <= 256 else 16
    return Plan("query-major", padded, tokens, "f16", 2, 4, 1)


def _resident(tile: Plan, shape: Shape) -> int:
    """Programs that one multiprocessor holds at once: one wave of programs leaves no tail."""
    if shape.head_dim > 256:
        return 1
    if tile.form == "token-major" and shape.head_dim <= 128:
        return 4 if tile.rows <= 16 else 3
    return 2
