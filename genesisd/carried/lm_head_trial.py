"""Whether lm_head_fp8 answers right on this device: tried on a small layer before a real one gives up its weights.

What compiles may still compute something else, with a compiler, a driver or a card that nobody has tried. Each kind of
launch that the layer may come to is made once, so that all are compiled before a request, and before a graph is captured.
"""

from __future__ import annotations

import logging
from types import ModuleType

import torch

from genesisd.kernels.lm_head_fp8.plan import plan_for
from genesisd.kernels.lm_head_fp8.quantise import quantise
from genesisd.kernels.lm_head_fp8.reference import reference

logger = logging.getLogger(__name__)
BOUND = 1e-2
"""Greatest error, relative to what is right: twice what bfloat16 may be off by, and far below any mistake."""
ROWS = (1, 9, 17, 33, 70)
"""Rows of each kernel that is compiled, and more than it takes at once."""
CHANNELS = 1024
_TRIED: dict[tuple[object, ...], str | None] = {}


def refuted(launch: ModuleType, hidden: int, channels: int, dtype: torch.dtype, device: torch.device) -> str | None:
    """Why the kernel must not serve such a layer here, or None; tried once for each."""
    key = (hidden, channels, dtype, device)
    if key not in _TRIED:
        wrong = (_wrong(launch, rows, *key) for rows in ROWS)
        _TRIED[key] = next((reason for reason in wrong if reason is not None), None)
    return _TRIED[key]


def _wrong(
    launch: ModuleType, rows: int, hidden: int, channels: int, dtype: torch.dtype, device: torch.device
) -> str | None:
    try:
        error = _error(launch, rows, hidden, channels, dtype, device)
    except torch.OutOfMemoryError as problem:
        logger.warning("lm_head_fp8 could not be tried, and is taken to be right: %s", problem)
        return None
    except Exception as problem:  # noqa: BLE001 - whatever a compiler raises, the engine has a path of its own
        first, _, _ = str(problem).partition("\n")
        return f"it does not run here: {type(problem).__name__}: {first}"
    return None if error < BOUND else f"it answers wrong here ({rows} rows): error {error:.1e}, allowed {BOUND:.0e}"


def _error(
    launch: ModuleType, rows: int, hidden: int, channels: int, dtype: torch.dtype, device: torch.device
) -> float:
    """Of one launch, relative to what is right; not a number where something was left unwritten."""
    generator = torch.Generator(device=device).manual_seed(rows)
    # Triton compiles once more for what 16 divides, and the layer's own plan may have narrower tiles than a small one's.
    few = min(channels, CHANNELS + channels % 16)
    weight = torch.randn(few, hidden, generator=generator, device=device).to(dtype)
    x = torch.randn(rows, hidden, generator=generator, device=device).to(dtype)
    plan = plan_for(launch.shape_of(x, torch.empty(channels, hidden, device="meta")))
    numbers, scales = quantise(weight)
    out = torch.full((rows, few), float("nan"), dtype=dtype, device=device)
    right = reference(x, numbers, scales)
    got = launch.lm_head_fp8(x, numbers, scales, plan=plan, out=out)
    return float(((got.double() - right).norm() / right.norm()).item())
