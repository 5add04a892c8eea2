"""What the store refuses, each with its reason: who is refused goes on with the engine's own."""

from __future__ import annotations

from dataclasses import dataclass

from genesisd.kernels.tq_verify.guards import device_refusal
from genesisd.kernels.tq_verify.layout import SlotLayout, difference


@dataclass(frozen=True)
class Setting:
    """What the backend stores with, asked once when the kernel is loaded."""

    layout: SlotLayout
    capability: tuple[int, int]
    fp8_format: str
    """How the backend reads the keys: "e4nv" or "e4b15"."""
    cache_strides: tuple[int, int, int]
    """Bytes from page to page, from token to token, from KV head to KV head."""


def refusal(setting: Setting) -> str | None:
    """Why the kernel does not serve a setting, or None."""
    found = difference(setting.layout)
    if found is not None:
        return f"the cache has another layout: {found.replace('kernel reads', 'kernel writes')}"
    head_dim = setting.layout.head_dim
    if head_dim % 8 or not 64 <= head_dim <= 512:
        return f"head_dim {head_dim} is not a multiple of 8 from 64 to 512"
    if any(stride % 4 for stride in setting.cache_strides):
        return f"cache strides of {setting.cache_strides} bytes are not all multiples of 4, which the stores need"
    return device_refusal(setting.capability, setting.fp8_format, "read")
