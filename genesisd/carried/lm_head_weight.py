"""The FP8 numbers of an output layer, under the name of its weights: who takes them for weights is led or stopped here.

The engine and its models may read or overwrite a layer's weights past its method. Bytes would be taken for numbers then,
and nothing would tell but the answers.
"""

from __future__ import annotations

import functools
from typing import Any, NoReturn

import torch

from genesisd.kernels.lm_head_fp8.quantise import AT_ONCE


def is_held(layer: Any) -> bool:
    """Whether a layer's weights are FP8 numbers already: made by another process, or processed twice."""
    return layer.weight.dtype == torch.uint8 and "weight_scale" in dict(layer.named_buffers())


def hold(layer: Any, numbers: torch.Tensor, scales: torch.Tensor) -> None:
    """Put FP8 numbers and scales in the place of a layer's weights."""
    # As bytes: the engine compares a drafter's layer with this one, and of FP8 torch compares with nothing else.
    layer.weight = torch.nn.Parameter(numbers.view(torch.uint8), requires_grad=False)
    layer.register_buffer("weight_scale", scales)  # a parameter would be missed in every checkpoint
    guard(layer)


def guard(layer: Any) -> None:
    """Have weights that are written one by one refused, and those that are read in another type be what they stand for."""
    weight = layer.weight
    # Of the tensors behind it: what holds itself would be freed late, and so would the layer of a drafter that shares.
    weight.to = functools.partial(_read, weight.data, layer.weight_scale)
    weight.copy_ = functools.partial(_copy, weight.data)
    weight.weight_loader = _refuse


def widened(numbers: torch.Tensor, scales: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The weights that FP8 numbers stand for, some channels at once."""
    out = torch.empty(numbers.shape, dtype=dtype, device=numbers.device)
    for first in range(0, numbers.shape[0], AT_ONCE):
        part = slice(first, first + AT_ONCE)
        out[part] = numbers[part].view(torch.float8_e4m3fn).float() * scales[part, None]
    return out


def _read(numbers: torch.Tensor, scales: torch.Tensor, *given: Any, **named: Any) -> torch.Tensor:
    """``weight.to``: the engine's logits processor asks for another type where activations are not of the layer's own."""
    dtype = next((one for one in (*given, *named.values()) if isinstance(one, torch.dtype)), torch.uint8)
    return widened(numbers, scales, dtype) if dtype.is_floating_point else numbers.to(*given, **named)


def _copy(numbers: torch.Tensor, given: torch.Tensor, *more: Any, **named: Any) -> torch.Tensor:
    """``weight.copy_``: sleep mode may put the layer's own bytes back, and a reload in another format brings weights."""
    if given.dtype != numbers.dtype:
        _refuse()
    return numbers.copy_(given, *more, **named)


def _refuse(*_: Any, **__: Any) -> NoReturn:
    """Numbers that are copied as they come would lack their scale. The engine's own reload puts its loaders back first."""
    raise RuntimeError(
        "PN77: the output layer holds FP8 weights, which cannot be loaded one by one: load them by reload_weights in "
        "the checkpoint's format (or between start_weight_update and finish_weight_update), or switch the patch off"
    )
