"""How the work is cut: rows (a row is one KV head of one token) of one program."""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.kernels.tq_verify.plan import power_of_two

AT_ONCE = 256
"""Numbers that one warp loads in one go: 8 of two bytes a thread."""


@dataclass(frozen=True)
class Plan:
    """One launch's cut."""

    rows: int
    """A power of two."""
    warps: int


@dataclass(frozen=True)
class Shape:
    """What a plan depends on."""

    rows: int
    head_dim: int
    processors: int


def plan_for(shape: Shape) -> Plan:
    """Programs of one warp while the device is not full: then nothing counts but how long a single one takes."""
    of_a_warp = max(1, AT_ONCE // power_of_two(shape.head_dim))
    warps = 1 if shape.rows <= 16 * shape.processors * of_a_warp else 4
    return Plan(of_a_warp * warps, warps)


def candidates(shape: Shape) -> tuple[Plan, ...]:
    """The plan and what else is worth a measurement: `--sweep` times them all."""
    chosen = plan_for(shape)
    of_a_warp = max(1, AT_ONCE // power_of_two(shape.head_dim))
    others = [Plan(of_a_warp * warps * turns, warps) for warps in (1, 2, 4, 8) for turns in (1, 2, 4)]
    return (chosen, *(plan for plan in others if plan != chosen))
