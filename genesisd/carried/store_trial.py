"""Whether tq_store writes the right bytes on this device: tried on a small cache before it writes to the engine's.

Each cut that any number of tokens may get is held against the plain steps, with keys and values that lie as the engine's
do; this compiles all that will ever be launched for them.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import torch

from genesisd.kernels.tq_store.comparing import difference
from genesisd.kernels.tq_store.plan import Plan, plan_for
from genesisd.kernels.tq_store.reference import reference

TOKENS = 37
"""Several programs of any cut, and the last one partly filled."""
TIES = 0.01
"""Of the nibbles: how many may be off by one, since the device's approximate division decides ties otherwise."""


class Small(NamedTuple):
    """The arguments of a small store."""

    key: torch.Tensor
    value: torch.Tensor
    cache: torch.Tensor
    slots: torch.Tensor


def refuted(
    launch: Any, fp8_format: str, key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor
) -> str | None:
    """Why the kernel must not store such tensors here, or None."""
    try:
        for plan in plans(launch, key):
            wrong = _wrong(launch, plan, fp8_format, small(key, value, cache, slots))
            if wrong is not None:
                return f"it writes wrong bytes here ({plan.rows} rows, {plan.warps} warps): {wrong}"
    except Exception as problem:  # noqa: BLE001 - whatever a compiler raises, the engine has a store of its own
        first, _, _ = str(problem).partition("\n")
        return f"it does not run here: {type(problem).__name__}: {first}"
    return None


def plans(launch: Any, key: torch.Tensor) -> tuple[Plan, ...]:
    """The cuts of all numbers of tokens."""
    like = launch.shape_of(key)
    return tuple(dict.fromkeys(plan_for(dataclasses.replace(like, rows=2**power)) for power in range(31)))


def small(key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> Small:
    """Random keys and values for scattered slots, some of them padding, in a cache full of random bytes."""
    generator = torch.Generator(device=key.device).manual_seed(1)
    page = cache.shape[1]
    pages = 2 + TOKENS // page
    chosen = torch.randperm(pages * page, generator=generator, device=key.device)[:TOKENS].to(slots.dtype)
    chosen[::5] = -1
    shape, strides = (pages, *cache.shape[1:]), (_close_up(cache, 64), *cache.stride()[1:])
    at = cache.data_ptr() % 16
    raw = torch.randint(256, (at + pages * strides[0],), dtype=torch.uint8, generator=generator, device=key.device)
    return Small(_like(key, generator), _like(value, generator), raw.as_strided(shape, strides, at), chosen)


def _like(given: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Random numbers that lie as the given ones."""
    strides, at = (_close_up(given, 16), *given.stride()[1:]), given.data_ptr() % 16 // given.element_size()
    raw = torch.randn(at + TOKENS * strides[0], generator=generator, device=given.device)
    return raw.to(given.dtype).as_strided((TOKENS, *given.shape[1:]), strides, at)


def _close_up(given: torch.Tensor, unit: int) -> int:
    """The first stride, as small as keeps what of it chooses a kernel."""
    span = 1 + sum((count - 1) * stride for count, stride in zip(given.shape[1:], given.stride()[1:], strict=True))
    return int(span + (given.stride(0) - span) % unit)


def _wrong(launch: Any, plan: Plan, fp8_format: str, given: Small) -> str | None:
    right = reference(*given, fp8_format=fp8_format)
    launch.tq_store(*given, fp8_format=fp8_format, plan=plan)
    return difference(given.cache, right, given.key.shape[2], TIES)
