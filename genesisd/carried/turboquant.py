"""TurboQuant's backend and tq_verify: asked when the cache is laid out, and at each step.

The builder of metadata asks once whether tq_verify serves its layers (`opens`). From then on a step of up to K+1 new
tokens a sequence is a decode to the backend, and its layers hand it over (`attend`): one launch for all requests,
which reads no length on the CPU, so that a captured CUDA graph stays true when the lengths change.
"""

from __future__ import annotations

import functools
import logging
import sys
from typing import Any

import torch

from genesisd.carried import ranks, trial
from genesisd.carried.codebook_keys import of_codebook
from genesisd.carried.foreseen import foreseen
from genesisd.carried.fp8_keys import of_fp8
from genesisd.carried.lying import Lying
from genesisd.carried.operation import Operation
from genesisd.carried.route import Route

logger = logging.getLogger(__name__)
_genesis_hits = {"P67": 0}
_genesis_skips: dict[str, dict[str, int]] = {"P67": {}}


def opens(builder: Any) -> int:
    """The most new tokens of a sequence that are a decode: those that the kernel verifies, or one.

    The builder's threshold is what would be without any limit: it counts drafts, parallel ones twice.
    """
    layers, served = _layers(builder), serves(builder)
    route = _route(builder, layers, served) if served else None
    for layer in layers:
        layer.impl.genesis_route = route
    builder.genesis_route = route
    return served or 1


def attend(impl: Any, query: torch.Tensor, cache: torch.Tensor, metadata: Any) -> torch.Tensor | None:
    """Attention of a decode batch, or None where the backend has to do it."""
    route = getattr(impl, "genesis_route", None)
    return None if route is None else route.attend(query, cache, metadata, impl.scale)


def count(builder: Any, decodes: int) -> None:
    """Note a step: it runs on the CPU even where a captured graph is replayed."""
    if decodes and getattr(builder, "genesis_route", None) is not None:
        _genesis_hits["P67"] += 1


def warm_up(vllm_config: Any) -> None:
    """Compile what will be launched, before graphs are captured and requests come."""
    for layer in vllm_config.compilation_config.static_forward_context.values():
        route = getattr(getattr(layer, "impl", None), "genesis_route", None)
        if route is not None and not route.is_warm:
            _touch(layer, route, vllm_config)


def _touch(layer: Any, route: Route, vllm_config: Any) -> None:
    """One step of one empty sequence, by the backend's own way to its cache."""
    impl, device = layer.impl, layer.kv_cache.device
    pages = -(-vllm_config.model_config.max_model_len // route.setting.page_size)
    metadata = sys.modules[type(impl).__module__].TurboQuantMetadata(
        seq_lens=torch.zeros(1, dtype=torch.int32, device=device),
        slot_mapping=torch.full((1,), -1, dtype=torch.int64, device=device),
        block_table=torch.zeros(1, pages, dtype=torch.int32, device=device),
        query_start_loc=torch.arange(2, dtype=torch.int32, device=device),
        num_actual_tokens=1,
        max_query_len=1,
        max_seq_len=1,
        num_decodes=1,
        num_decode_tokens=1,
    )
    width = impl.num_heads * impl.head_size
    query = torch.zeros(1, width, dtype=vllm_config.model_config.dtype, device=device)
    impl.forward(layer, query, query, query, layer.kv_cache, metadata)


def agree(vllm_config: Any, device: torch.device) -> ranks.Served:
    """The most query tokens a sequence that the kernel takes in each layer, here and on all ranks of the engine.

    All of them come here, once, before the cache is laid out; later calls only look it up.
    """
    return ranks.agreed(vllm_config, lambda: _served(vllm_config, device))


def serves(builder: Any) -> int:
    """The most query tokens a sequence that the kernel takes on all ranks; none where it does not even decode."""
    agreed = agree(builder.vllm_config, builder.device)
    here, served = (min(of.get(name, 0) for name in builder.layer_names) for of in agreed)
    if served < here:
        _stand_aside(f"verifying {here} tokens a sequence" if served else "decoding", "another rank does not serve it")
    return min(served, _untried(builder)) if served else 0  # its cache may lie otherwise than was foreseen


def _served(vllm_config: Any, device: torch.device) -> dict[str, int] | None:
    """What this rank serves in each layer; None where that cannot be told."""
    served: dict[str, int] = {}
    try:
        for builder in foreseen(vllm_config, device):
            served |= dict.fromkeys(builder.layer_names, _served_here(builder))
    except Exception as error:  # noqa: BLE001 - the engine has a path of its own, and other ranks wait
        _stand_aside("decoding", f"cannot tell whether it is served: {type(error).__name__}: {error}")
        return None
    return served


def _served_here(builder: Any) -> int:
    served = _untried(builder)
    if not served:
        return 0
    layers = _layers(builder)
    config, operation = builder.vllm_config, _operation(builder, layers[0].impl, served)
    sequences, dtype = config.scheduler_config.max_num_seqs, config.model_config.dtype
    wrong = trial.refuted(operation.launching(), operation, sequences, dtype, builder.device)
    if wrong is not None:
        _stand_aside("decoding", wrong)
        return 0
    return served


def _untried(builder: Any) -> int:
    """What the guards leave of it."""
    layers = _layers(builder)
    reason = _refusal(builder, layers, 1)
    if reason is not None:
        _stand_aside("decoding", reason)
        return 0
    return _verified(builder, layers)


def drafts_of(vllm_config: Any) -> int:
    """Drafts of a sequence that a step verifies at most."""
    return getattr(vllm_config.speculative_config, "num_speculative_tokens", None) or 0


def _layers(builder: Any) -> list[Any]:
    context = builder.vllm_config.compilation_config.static_forward_context
    return [context[name] for name in builder.layer_names]


def _verified(builder: Any, layers: list[Any]) -> int:
    """All new tokens of a step, or the drafts of one alone where a drafter asks for twice as many, or one."""
    wanted = builder.reorder_batch_threshold
    for query_len in dict.fromkeys((wanted, min(wanted, 1 + drafts_of(builder.vllm_config)))):
        reason = _refusal(builder, layers, query_len)
        if reason is None:
            return int(query_len)
        _stand_aside(f"verifying {query_len} tokens a sequence", reason)
    return 1


def _route(builder: Any, layers: list[Any], query_len: int) -> Route:
    config, operation = builder.vllm_config, _operation(builder, layers[0].impl, query_len)
    route = Route(operation, config.scheduler_config.max_num_seqs, config.model_config.dtype, builder.device)
    _tell(
        f"P67: {len(layers)} layers decode, and verify up to {query_len} tokens, by {operation.name}, with "
        f"{route.reserved / 2**20:.1f} MiB for all layers together"
    )
    return route


@functools.cache
def _tell(text: str) -> None:
    """Once: builders are made for memory, for graphs, and to serve."""
    logger.info("%s", text)


def _refusal(builder: Any, layers: list[Any], query_len: int) -> str | None:
    """Why the kernel does not serve these layers, or None."""
    if torch.version.hip is not None:
        return "the kernel is for NVIDIA's cards"
    if builder.vllm_config.parallel_config.use_ubatching:
        return "micro-batches run beside each other, and would share one scratch"
    parallel = builder.vllm_config.parallel_config
    if max(parallel.decode_context_parallel_size, getattr(parallel, "prefill_context_parallel_size", 1)) > 1:
        return "a sequence's cache is shared out to several ranks"
    try:
        _operation(builder, layers[0].impl, query_len).launching()
    except ImportError as error:
        return f"the kernel cannot be loaded: {error}"
    operations = {_operation(builder, layer.impl, query_len) for layer in layers}
    reasons = [_feature(layer) for layer in layers] + [one.refusal() for one in operations]
    if len(operations) != 1:
        reasons.append("layers of several shapes share one cache")
    return next((reason for reason in reasons if reason is not None), None)


def _feature(layer: Any) -> str | None:
    """What a layer has that its setting does not tell."""
    if getattr(layer.impl, "_soa_store", False):
        return "data and scales of the cache lie apart"
    if getattr(layer.impl, "sinks", None) is not None:
        return "attention sinks"
    return None


def _operation(builder: Any, impl: Any, query_len: int) -> Operation:
    """The kernel for how a layer's keys are stored, and what its guards ask about."""
    spec, device, heads = builder.kv_cache_spec, builder.device, impl.num_kv_heads
    slot = impl.tq_config.slot_size_aligned
    backend = sys.modules[type(impl).__module__]
    by_tokens, by_heads = (heads * slot, slot), (slot, spec.block_size * slot)
    lying = Lying(
        page_size=spec.block_size,
        query_heads=impl.num_heads,
        kv_heads=heads,
        max_query_len=query_len,
        capability=torch.cuda.get_device_capability(device) if device.type == "cuda" else (9, 0),
        cache_strides=(spec.page_size_bytes, *(by_heads if _heads_first(backend) else by_tokens)),
        sliding_window=getattr(spec, "sliding_window", None) or 0,
        device=device,
    )
    return of_fp8(impl, lying) if impl.tq_config.key_fp8 else of_codebook(impl, lying)


def _heads_first(backend: Any) -> bool:
    """Whether a page holds one head's tokens after the other's: where the backend tells a shape, it lies as that says."""
    try:
        shape = backend.TurboQuantAttentionBackend.get_kv_cache_shape(1, 16, 1, 128, "turboquant_k8v4")
    except (AttributeError, NotImplementedError, TypeError):
        return False
    return bool(shape[1] == 1)


def _stand_aside(what: str, reason: str) -> None:
    """Tell why the engine's own path does it, once a reason."""
    skips = _genesis_skips["P67"]
    told = f"{what}: {reason}"
    if told not in skips:
        logger.warning("P67: %s stays with the engine's own kernel: %s", what, reason)
    skips[told] = skips.get(told, 0) + 1
