"""The engine's output layer and lm_head_fp8: asked once when a model's weights are loaded, and for all logits after.

An output layer that is served gets a method of its own (`look`) just before the engine has each layer make of its
weights what its kernel reads. From then on the engine's own ways lead here: its loaders, which quantise again when
weights are loaded again, draft models that share the layer, and whatever asks for logits. Scale, cap and gathering
of ranks come after, as before.
"""

from __future__ import annotations

import copy
import functools
import logging
import sys
from types import ModuleType
from typing import Any

import torch

from genesisd.carried.lm_head_refusal import is_plain, refusal_of_layer, refusal_of_model
from genesisd.carried.lm_head_trial import refuted
from genesisd.carried.lm_head_weight import guard, hold, is_held
from genesisd.kernels.lm_head_fp8.quantise import AT_ONCE, quantise

logger = logging.getLogger(__name__)
_genesis_hits = {"PN77": 0}
_genesis_skips: dict[str, dict[str, int]] = {"PN77": {}}
SERVED = (torch.bfloat16, torch.float16)


def launching() -> ModuleType:
    """The module that launches the kernel. Raises ImportError where there is no triton."""
    from genesisd.kernels.lm_head_fp8 import launch  # noqa: PLC0415 - models are loaded without triton as well

    return launch


def look(model: Any, model_config: Any) -> None:
    """Give each output layer of a loaded model that is served the method that quantises it, or say why not."""
    try:
        _look(model, model_config)
    except Exception as error:  # noqa: BLE001 - a layer that was not looked at is served as it was loaded
        _stand_aside("output layers", f"{type(error).__name__}: {error}")


def _look(model: Any, model_config: Any) -> None:
    kind = sys.modules["vllm.model_executor.layers.vocab_parallel_embedding"].ParallelLMHead
    heads = {name: layer for name, layer in model.named_modules() if isinstance(layer, kind)}
    if not heads:
        _stand_aside(
            type(model).__name__, "no output layer of its own here: the embedding is it, or another rank has it"
        )
    for name, head in heads.items():
        reason = _refusal(head, model, model_config)
        if reason is not None:
            _stand_aside(name, reason)
            continue
        method = copy.copy(head.quant_method)
        method.__class__ = _fp8_of(method.__class__)
        head.quant_method = method


def _refusal(head: Any, model: Any, model_config: Any) -> str | None:
    """Why a layer stays as it was loaded. One that came with FP8 weights has nothing else to be served by."""
    if is_held(head) and is_plain(head):
        return _fails(head, model_config.dtype)
    return (
        refusal_of_model(model, model_config)
        or refusal_of_layer(head, model, model_config)
        or _fails(head, head.weight.dtype)
    )


def _fails(head: Any, dtype: torch.dtype) -> str | None:
    """Why the kernel must not serve this layer, though it is made for it."""
    try:
        launch = launching()
    except ImportError as error:
        return f"the kernel cannot be loaded: {error}"
    channels, hidden = head.weight.shape
    return refuted(launch, hidden, channels, dtype, head.weight.device)


@functools.cache
def _fp8_of(base: Any) -> type:
    """The layer's method with FP8 weights. Still of its class: the engine asks that of what it may process."""
    own = {"process_weights_after_loading": _process, "apply": _apply, "embedding": _embedding}
    return type(f"GenesisFp8{base.__name__}", (base,), own)


def _process(_self: Any, layer: Any) -> None:
    """Weights to FP8 numbers of the same name and shape, and scales beside them; the numbers loaded are let go."""
    if is_held(layer):
        guard(layer)
        return
    loaded = layer.weight
    numbers, scales = quantise(loaded.data)
    hold(layer, numbers, scales)
    logger.info(
        "PN77: an output layer of %d x %d has FP8 weights: %.1f MiB instead of %.1f",
        *numbers.shape,
        (numbers.nbytes + scales.nbytes) / 2**20,
        loaded.nbytes / 2**20,
    )


def _apply(self: Any, layer: Any, x: torch.Tensor, bias: torch.Tensor | None = None) -> Any:
    """Logits of any number of rows, 64 at once: more read the weights again, and take no memory for wider ones."""
    if layer.weight.dtype != torch.uint8:  # it was tied to an embedding since
        return super(type(self), self).apply(layer, x, bias)
    numbers = layer.weight.view(torch.float8_e4m3fn)
    rows = x.reshape(-1, x.shape[-1]).contiguous()
    if x.dtype in SERVED and not torch.compiler.is_compiling():
        _genesis_hits["PN77"] += 1
        out = launching().lm_head_fp8(rows, numbers, layer.weight_scale)
    else:
        out = _plain(rows, numbers, layer.weight_scale)
    out = out if bias is None else out + bias
    return out.view(*x.shape[:-1], out.shape[-1])


def _plain(rows: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The same in torch's steps, some channels at once, for activations that the kernel does not take."""
    parts = []
    for first in range(0, weight.shape[0], AT_ONCE):
        part = slice(first, first + AT_ONCE)
        parts.append(((rows @ weight[part].to(rows.dtype).T).float() * scales[part]).to(rows.dtype))
    return torch.cat(parts, 1)


def _embedding(self: Any, layer: Any, ids: torch.Tensor) -> Any:
    if layer.weight.dtype != torch.uint8:
        return super(type(self), self).embedding(layer, ids)
    raise RuntimeError("PN77: this model embeds by its output layer, which holds FP8 weights; switch the patch off")


def _stand_aside(what: str, reason: str) -> None:
    """Tell why a layer stays as it was loaded, once a reason."""
    skips, told = _genesis_skips["PN77"], f"{what}: {reason}"
    if told not in skips:
        logger.warning("PN77: %s keeps the weights as they were loaded: %s", what, reason)
    skips[told] = skips.get(told, 0) + 1
