"""What the kernel refuses, each with its reason: who is refused keeps the weights as they were loaded."""

from __future__ import annotations

from dataclasses import dataclass

GRANULE = 16
"""Weights of one channel that are copied at once: the asynchronous copies take 16 bytes."""


@dataclass(frozen=True)
class Setting:
    """What the layer runs with, asked once when its weights are loaded."""

    hidden: int
    channels: int
    """Entries of the vocabulary that this rank holds."""
    weight_stride: int
    """Bytes from channel to channel."""
    activations: str
    """"bfloat16" or "float16"."""
    capability: tuple[int, int]
    bias: bool = False


def refusal(setting: Setting) -> str | None:
    """Why the kernel does not serve a setting, or None."""
    if setting.hidden <= 0 or setting.hidden % GRANULE:
        return f"a hidden size of {setting.hidden} is not a positive multiple of {GRANULE}"
    if setting.channels <= 0:
        return f"{setting.channels} channels: the layer is empty"
    if setting.weight_stride < setting.hidden or setting.weight_stride % GRANULE:
        return f"channels {setting.weight_stride} bytes apart: a multiple of {GRANULE} from {setting.hidden} is needed"
    if setting.activations not in {"bfloat16", "float16"}:
        return f"activations in {setting.activations}: bfloat16 and float16 are served"
    if setting.capability < (8, 0):
        return f"compute capability {setting.capability[0]}.{setting.capability[1]}: 8.0 or newer is needed"
    if setting.bias:
        return "the layer has a bias, which the kernel does not add"
    return None
