"""Device memory that all layers of a device use in turn: one layer has read it before the next one writes.

It is laid out before anything is captured. A captured CUDA graph holds its addresses, so nothing is ever given back:
what has become too small stays beside what takes its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

_POOLS: dict[torch.device, dict[str, torch.Tensor]] = {}
_OUTGROWN: list[torch.Tensor] = []


def reserve(device: torch.device, wanted: Mapping[str, tuple[int, torch.dtype]]) -> int:
    """Have at least so many elements under each name, and tell the bytes of all that is held on the device.

    They begin as zeros, so that rows which no kernel writes are numbers and not what the memory held.
    """
    pool = _POOLS.setdefault(torch.empty(0, device=device).device, {})
    for name, (count, dtype) in wanted.items():
        held = pool.get(name)
        if held is not None and held.dtype == dtype and held.numel() >= count:
            continue
        if held is not None:
            _OUTGROWN.append(held)
        pool[name] = torch.zeros(count, dtype=dtype, device=device)
    return sum(one.nbytes for one in pool.values())


def take(device: torch.device, name: str, shape: Sequence[int], dtype: torch.dtype) -> torch.Tensor | None:
    """The memory of that name in a shape; None where it was not reserved so large, or as other numbers."""
    held, count = _POOLS.get(device, {}).get(name), math.prod(shape)
    if held is None or held.dtype != dtype or held.numel() < count:
        return None
    return held[:count].view(*shape)
