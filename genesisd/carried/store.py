"""TurboQuant's backend and tq_store: asked at each store of new keys and values.

What tensors of a kind need is decided when the first of them come: the guards and a trial say whether tq_store serves
them, and then it is compiled for any number of tokens. It writes the very bytes of the engine's own store, so that
either may fill a cache that the other goes on with: layers, ranks and captured graphs need not agree.
"""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

import torch

from genesisd.carried import store_trial
from genesisd.kernels.tq_store.guards import Setting, refusal
from genesisd.kernels.tq_verify.layout import SlotLayout

logger = logging.getLogger(__name__)
_genesis_hits = {"PN530": 0}
_genesis_skips: dict[str, dict[str, int]] = {"PN530": {}}
_DECIDED: dict[tuple[object, ...], Callable[..., None] | None] = {}
"""How tensors of a kind are stored; None where the engine stores them."""


def store(impl: Any, key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> bool:
    """Write new keys and values to their slots; False where the engine has to do it."""
    known, kind = impl.__dict__.setdefault("genesis_stores", {}), _kind(key, value, cache, slots)
    if kind not in known:
        if _capturing(key):
            _stand_aside("they lie as none did before, and a CUDA graph is being captured")
            return False
        known[kind] = _decided(impl, kind, key, value, cache, slots)
    write = known[kind]
    if write is None:
        return False
    write(key, value, cache, slots)
    return True


def count() -> None:
    """Note a step: it runs on the CPU even where a captured graph is replayed."""
    if any(_DECIDED.values()):
        _genesis_hits["PN530"] += 1


def warm_up(vllm_config: Any) -> None:
    """Decide and compile for all layers, before graphs are captured and requests come."""
    for layer in vllm_config.compilation_config.static_forward_context.values():
        if hasattr(getattr(layer, "impl", None), "tq_config") and layer.kv_cache.numel():
            _touch(layer, vllm_config.model_config.dtype)


def launching() -> Any:
    """The module that launches the kernel. Raises ImportError where there is no triton."""
    from genesisd.kernels.tq_store import launch  # noqa: PLC0415 - the backend is loaded without triton as well

    return launch


def _touch(layer: Any, dtype: torch.dtype) -> None:
    """A store of padding by the backend's own way to its cache; its tokens lie as the layer before leaves them."""
    impl, cache = layer.impl, layer.kv_cache
    width = impl.num_kv_heads * impl.head_size
    wide = torch.zeros(2, impl.num_heads * impl.head_size + 2 * width, dtype=dtype, device=cache.device)
    slots = torch.full((2,), -1, dtype=torch.int64, device=cache.device)
    impl.do_kv_cache_update(layer, wide[:, -2 * width : -width], wide[:, -width:], cache, slots)


def _kind(key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> tuple[object, ...]:
    """All that decides which kernel is launched but the number of tokens: triton compiles once more for what 16 divides."""
    (key_token, *key_rest), (value_token, *value_rest) = key.stride(), value.stride()
    pages, *cache_rest = cache.stride()  # the kernel counts pages in words of 4 bytes
    places = key.data_ptr() % 16, value.data_ptr() % 16, cache.data_ptr() % 16
    return (
        key.device, key.dtype, value.dtype, slots.dtype, slots.stride(), key.shape[1:], value.shape[1:], cache.shape[1:],
        key_token % 16, *key_rest, value_token % 16, *value_rest, pages % 64, *cache_rest, *places,
    )  # fmt: skip


def _decided(impl: Any, kind: tuple[object, ...], *tensors: torch.Tensor) -> Callable[..., None] | None:
    """How such tensors are stored in such layers, asked once for all that are alike."""
    config = impl.tq_config
    layout = SlotLayout(impl.head_size, config.key_packed_size, config.value_packed_size, config.slot_size_aligned)
    known = (config.key_fp8, layout, *kind)
    if known not in _DECIDED:
        _DECIDED[known] = _asked(impl, layout, *tensors)
    return _DECIDED[known]


def _asked(
    impl: Any, layout: SlotLayout, key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor
) -> Callable[..., None] | None:
    setting = _setting(impl, layout, key, cache)
    reason = _refusal(impl) or refusal(setting) or _unlike(impl, key, value, cache, slots)
    if reason is None:
        try:
            launch = launching()
        except ImportError as error:
            reason = f"the kernel cannot be loaded: {error}"
        else:
            reason = store_trial.refuted(launch, setting.fp8_format, key, value, cache, slots)
    if reason is not None:
        _stand_aside(reason)
        return None
    logger.info("PN530: tq_store stores %d KV heads of %d", key.shape[1], key.shape[2])
    return functools.partial(launch.tq_store, fp8_format=setting.fp8_format)


def _setting(impl: Any, layout: SlotLayout, key: torch.Tensor, cache: torch.Tensor) -> Setting:
    """What the kernel's guards ask about."""
    backend, device = sys.modules[type(impl).__module__], key.device
    pages, tokens, heads, _ = cache.stride()
    return Setting(
        layout=layout,
        capability=torch.cuda.get_device_capability(device) if key.is_cuda else (9, 0),
        fp8_format="e4b15" if backend._use_fp8_e4b15(device.index or 0) else "e4nv",  # noqa: SLF001 - its own answer
        cache_strides=(pages, tokens, heads),
    )


def _refusal(impl: Any) -> str | None:
    """Why the kernel serves no layer like this one, or None."""
    if torch.version.hip is not None:
        return "the kernel is for NVIDIA's cards"
    if not impl.tq_config.key_fp8:
        return "keys are not stored as FP8"
    return None


def _unlike(impl: Any, key: torch.Tensor, value: torch.Tensor, cache: torch.Tensor, slots: torch.Tensor) -> str | None:
    """What these tensors have that the kernel does not know, or None."""
    for name, one in (("keys", key), ("values", value)):
        known = one.dtype in (torch.bfloat16, torch.float16, torch.float32)
        if not known or one.stride(2) != 1 or one.shape != key.shape:
            return f"{name} are {one.dtype}, {list(one.shape)} with strides {one.stride()}"
    if slots.dtype not in (torch.int32, torch.int64) or slots.stride() != (1,):
        return f"slots are {slots.dtype} with strides {slots.stride()}"
    wanted = (key.shape[1], impl.tq_config.slot_size_aligned)
    if cache.dtype is not torch.uint8 or cache.shape[2:] != wanted or cache.stride(3) != 1 or cache.data_ptr() % 4:
        return f"the cache is {cache.dtype}, {list(cache.shape)} with strides {cache.stride()} at {cache.data_ptr():#x}"
    return None


def _capturing(key: torch.Tensor) -> bool:
    return bool(key.is_cuda and torch.cuda.is_current_stream_capturing())


def _stand_aside(reason: str) -> None:
    """Tell why the engine stores, once a reason."""
    skips = _genesis_skips["PN530"]
    if reason not in skips:
        logger.warning("PN530: new keys and values stay with the engine's own store: %s", reason)
    skips[reason] = skips.get(reason, 0) + 1
