"""How the work is cut: tile shape, form and number of splits, chosen once for a shape and fixed under a captured graph."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Plan:
    """One launch's cut."""

    form: str
    """"query-major": query rows are the M of the matrix products. "token-major": the cache's tokens are. "warp-group": likewise,
    in CUDA."""
    rows: int
    """Query rows (query tokens x heads of the group) of one program, padded to a power of two."""
    tokens: int
    """Tokens of one tile."""
    keys: str
    """"fp8": keys go to the matrix units as they are, the query split in two. "f16": keys are widened first."""
    stages: int
    warps: int
    splits: int
    """Programs that share one sequence's tokens; in the form "warp-group", chunks that all sequences' tokens make.
    With a tail one more, the first, which takes the tail."""
    chunk: int = 64
    """Fewest tokens worth a program of their own."""
    resident: int = 2
    """Programs that one multiprocessor is to hold at once."""
    columns: int = 0
    """In the form "warp-group", programs of one chunk: KV heads x blocks of rows."""
    parts: int = 1
    """In the form "warp-group", blocks of the merge that share one row's columns: each number is a kernel of its own."""
    narrow: int = 0
    """In the form "warp-group", rows of a program where the batch is short, in twice as many blocks; 0 if never."""
    narrow_to: int = 0
    """Tokens of a chunk up to which a batch is short, told from the lengths on the device."""


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
    warp_groups: bool = False
    """Whether the form in CUDA can serve: what it needs beyond a shape is asked by hopper.serves."""
    tail: bool = False
    """Whether query tokens come from keys and values of their own; the form in CUDA takes none."""


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def plan_for(shape: Shape) -> Plan:
    """The cut for a shape; figures that led to it are in docs/kernels.md."""
    rows = shape.max_query_len * shape.group
    if shape.warp_groups and not shape.tail:
        tile = _warp_group(rows, shape.head_dim)
    elif shape.capability != (9, 0):  # FP8 products of these sizes spill on sm 10.0 and 12.0, and overrun 12.0's memory
        tile = _widened(rows, shape.head_dim)
    elif rows <= 32 and shape.head_dim <= 256:
        tile = _token_major(rows, shape.head_dim)
    else:
        tile = _query_major(shape.head_dim)
    columns = shape.kv_heads * -(-rows // tile.rows)
    programs = shape.processors * tile.resident // columns
    if tile.form == "warp-group":
        chunks = max(programs, 2 * shape.batch)
        parts = _parts(shape.batch * shape.kv_heads * rows, shape.head_dim)
        return _narrowing(replace(tile, splits=chunks, columns=columns, parts=parts), shape)
    return replace(tile, splits=max(1, programs // shape.batch) + shape.tail)


def _warp_group(rows: int, head_dim: int) -> Plan:
    wide = head_dim > 128
    blocks = -(-rows // 48)
    padded = -(-rows // (blocks * 8)) * 8
    resident = 2 if wide else 4 if padded <= 32 else 3
    return Plan("warp-group", padded, 64, "fp8", 3, 4, 1, chunk=128, resident=resident)


def _narrowing(plan: Plan, shape: Shape) -> Plan:
    """Half of the rows for short batches, where that leaves twice as many chunks as there are sequences.

    One KV head's pages come as one run each, and cost a second reader less than single rows do.
    """
    if shape.head_dim <= 128 or plan.rows < 32 or plan.splits < 4 * shape.batch:
        return plan
    return replace(plan, narrow=-(-plan.rows // 16) * 8, narrow_to=512 if shape.kv_heads == 1 else 192)


def ways(plan: Plan) -> tuple[Plan, ...]:
    """The plan, and the same with whole blocks of rows where lengths choose between both: small ones know the other alone."""
    return (plan, replace(plan, narrow_to=0)) if plan.narrow else (plan,)


def _parts(rows: int, head_dim: int) -> int:
    return min(head_dim // 64, 4 if rows <= 128 else 2 if rows <= 512 else 1)


def _token_major(rows: int, head_dim: int) -> Plan:
    stages = 2 if head_dim <= 128 or rows > 16 else 3
    resident = 2 if head_dim > 128 else 4 if rows <= 16 else 3
    return Plan("token-major", max(8, power_of_two(rows)), 64, "fp8", stages, 4, 1, resident=resident)


def _query_major(head_dim: int) -> Plan:
    wide = power_of_two(head_dim) > 256
    return Plan("query-major", 64, 32, "fp8", 3, 8 if wide else 4, 1, resident=1 if wide else 2)


def _widened(rows: int, head_dim: int) -> Plan:
    most = 16 if head_dim > 256 else 32 if head_dim > 128 else 64
    padded = min(max(16, power_of_two(rows)), most)
    tokens = 32 if head_dim <= 256 else 16
    return Plan("query-major", padded, tokens, "f16", 2, 4, 1, resident=1 if head_dim > 256 else 2)
