"""How the work is cut: the tile of one program, chosen once for a shape and fixed under a captured graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_ROWS = 64
"""Rows of one program; more make blocks, which read the weights once each."""


@dataclass(frozen=True)
class Plan:
    """One launch's cut."""

    channels: int
    """Entries of the vocabulary of one tile."""
    depth: int
    """Weights of each channel in one tile."""
    rows: int
    """Rows of activations, padded to a power of two."""
    stages: int
    warps: int
    resident: int
    """Programs that one multiprocessor is meant to hold at once."""


@dataclass(frozen=True)
class Shape:
    """What a plan depends on."""

    rows: int
    hidden: int
    channels: int
    capability: tuple[int, int]
    processors: int


def plan_for(shape: Shape) -> Plan:
    """The cut for a shape. Not split over the hidden size: vocabularies fill the device without it."""
    rows = min(MOST_ROWS, max(8, 1 << max(shape.rows - 1, 0).bit_length()))
    return _filling(_tile(rows, shape.capability), shape)


def _tile(rows: int, capability: tuple[int, int]) -> Plan:
    """On Hopper as measured for up to 8 rows: three programs of 64 x 256, three tiles of each on their way.

    From 16 rows the compiler takes the products of warp groups, which need more registers and wider tiles.
    """
    if capability >= (9, 0):
        return Plan(64, 256, rows, 4, 4, 3) if rows == 8 else Plan(128, 128, rows, 3, 8, 2 if rows <= 32 else 1)
    return Plan(64, 256 if rows <= 16 else 128, rows, 3, 4, 2)


def _filling(tile: Plan, shape: Shape) -> Plan:
    """The tile, narrower where a small share of a vocabulary would leave multiprocessors without a program."""
    channels = tile.channels
    while channels > 16 and -(-shape.channels // channels) < shape.processors * tile.resident:
        channels //= 2
    warps = tile.warps if channels == tile.channels else min(tile.warps, 4)
    return replace(tile, channels=channels, warps=warps)


def candidates(shape: Shape) -> tuple[Plan, ...]:
    """The plan and what else is worth a measurement on a device of this kind: `--sweep` times them all."""
    chosen = plan_for(shape)
    others = [
        Plan(channels, depth, chosen.rows, stages, warps, chosen.resident)
        for channels, depth, stages, warps in (
            (32, 256, 4, 4),
            (64, 128, 4, 4),
            (64, 256, 3, 4),
            (64, 256, 4, 4),
            (128, 128, 4, 4),
            (128, 256, 3, 8),
            (128, 256, 4, 8),
            (64, 512, 3, 4),
        )
    ]
    return (chosen, *(plan for plan in others if plan != chosen))
