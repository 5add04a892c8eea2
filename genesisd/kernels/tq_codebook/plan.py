"""How the work is cut: tile shape and number of splits, chosen once for a shape and fixed under a captured graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

from genesisd.kernels.tq_verify.plan import power_of_two


@dataclass(frozen=True)
class Plan:
    """One launch's cut."""

    rows: int
    """Query rows (query tokens x heads of the group) of one program: a power of two from 16."""
    tokens: int
    """Tokens of one tile: 16, 32 or 64."""
    stages: int
    warps: int
    splits: int = 1
    """Programs that share one sequence's tokens."""
    chunk: int = 64
    """Fewest tokens worth a program of their own."""
    resident: int = 2
    """Programs that one multiprocessor is to hold at once."""


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


def plan_for(shape: Shape) -> Plan:
    """The cut for a shape: on Hopper as measured with head_dim 128 and 256, elsewhere by arithmetic."""
    most = 16 if shape.head_dim > 256 else 32 if shape.head_dim > 128 else 64
    rows = min(max(16, power_of_two(shape.max_query_len * shape.group)), most)
    large = shared_room(shape.capability) > 128 * 1024
    many = large and shape.head_dim == 128 and rows == 32
    tokens = 64 if shape.head_dim == 64 or many else 32 if shape.head_dim <= (256 if large else 128) else 16
    return shared_out(Plan(rows, tokens, 3 if large and shape.head_dim <= 256 else 2, 4), shape)


def shared_out(tile: Plan, shape: Shape) -> Plan:
    """The same tile with as many splits as make one wave of as many programs as a multiprocessor has room for."""
    most = 3 if tile.rows == 16 and shape.head_dim <= 128 and tile.warps == 4 else 8 // tile.warps
    each = shared_bytes(tile, shape.head_dim) + 1024
    resident = max(1, min(most, shared_room(shape.capability) // each))
    columns = max(1, shape.batch) * shape.kv_heads * blocks_of(tile, shape)
    return replace(tile, resident=resident, splits=max(1, shape.processors * resident // columns))


def shared_room(capability: tuple[int, int]) -> int:
    """Bytes of shared memory of a multiprocessor, less what the device takes of the first program."""
    large = {(8, 0): 163, (8, 7): 163, (9, 0): 227, (10, 0): 227, (10, 3): 227}
    return large.get(capability, 99) * 1024


def shared_bytes(plan: Plan, head_dim: int) -> int:
    """What a program needs at most: tiles as they come, entries, values and sums of squares as float16, the query."""
    coming = 2 * (plan.stages - 1)
    return plan.tokens * (head_dim * (9 + 2 * coming) // 2 + 16 * coming) + plan.rows * (2 * head_dim + 2 * plan.tokens)


def blocks_of(plan: Plan, shape: Shape) -> int:
    """Blocks of rows: each reads the cache once."""
    return -(-shape.max_query_len * shape.group // plan.rows)


def candidates(shape: Shape) -> tuple[Plan, ...]:
    """The plan and what else is worth a measurement and has room: `--sweep` times them all."""
    chosen = plan_for(shape)
    others = [
        shared_out(replace(chosen, tokens=tokens, stages=stages, warps=warps), shape)
        for tokens in (16, 32, 64)
        for stages in (2, 3, 4)
        for warps in (4, 8)
    ]
    room = shared_room(shape.capability)
    fits = [plan for plan in others if shared_bytes(plan, shape.head_dim) + 1024 <= room]
    return (chosen, *(plan for plan in fits if plan != chosen))
