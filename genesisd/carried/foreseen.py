"""What is known of TurboQuant's builders of metadata before the engine makes them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import torch


def foreseen(vllm_config: Any, device: torch.device) -> Iterator[Any]:
    """The builders to come: one for all layers whose caches are alike, a drafter's among them."""
    groups: dict[Any, list[str]] = {}
    layers = vllm_config.compilation_config.static_forward_context
    for name, layer in layers.items():
        if hasattr(getattr(layer, "impl", None), "tq_config"):
            groups.setdefault(layer.get_kv_cache_spec(vllm_config), []).append(name)
    for spec, names in groups.items():
        builder = SimpleNamespace(vllm_config=vllm_config, layer_names=names, kv_cache_spec=spec, device=device)
        backend = sys.modules[type(layers[names[0]].impl).__module__]
        # As the builder itself does.
        backend.TurboQuantMetadataBuilder._init_reorder_batch_threshold(builder, 1, supports_spec_as_decode=True)  # noqa: SLF001
        yield builder
