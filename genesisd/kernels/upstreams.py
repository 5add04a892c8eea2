"""The engine's own kernels, out of a release's tree, beside which ours are measured."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import torch


def engine_s(op: str, tree: Path | None, *how: object) -> Any:
    """The engine's side of an operation: its package's ``upstream.Upstream`` of the tree; None where there is no tree."""
    return None if tree is None else import_module(f"genesisd.kernels.{op}.upstream").Upstream(tree, *how)


def each_token(tables: list[torch.Tensor], lens: torch.Tensor, count: int) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Page tables and lengths in which each of ``count`` query tokens is a sequence of its own, as the backend asks."""
    rows = [table.repeat_interleave(count, 0).contiguous() for table in tables]
    steps = torch.arange(count, device=lens.device).repeat(lens.shape[0])
    return rows, (lens.repeat_interleave(count) - count + 1 + steps).to(torch.int32)
