"""What the engine is told before it makes TurboQuant's builders of metadata: memory, and which CUDA graphs to capture."""

from __future__ import annotations

import logging
from typing import Any

import torch

from genesisd.carried.foreseen import foreseen
from genesisd.carried.turboquant import agree, drafts_of, opens, serves

logger = logging.getLogger(__name__)


def reserve(vllm_config: Any, device: torch.device) -> None:
    """Take the kernel's memory while the engine measures how much is left for its cache.

    Builders are made afterwards, when the cache has been given the rest.
    """
    agree(vllm_config, device)  # on every rank of the engine, with such layers or without
    try:
        for builder in foreseen(vllm_config, device):
            opens(builder)
    except Exception as error:  # noqa: BLE001 - without this the engine starts all the same, with less to spare
        logger.warning("P67: its memory is taken after the cache was sized: %s: %s", type(error).__name__, error)


def graphs(vllm_config: Any, support: Any) -> Any:
    """What CUDA graphs the backend takes: not of whole steps with drafts, where these stay with the engine's own path.

    In such a graph that path verifies against what the captured step had, and that was nothing.
    """
    drafts, less = drafts_of(vllm_config), type(support).UNIFORM_SINGLE_TOKEN_DECODE
    if not drafts or support.value <= less.value:
        return support
    device = torch.empty(0, device=vllm_config.device_config.device).device
    try:
        served = [serves(builder) for builder in foreseen(vllm_config, device)]
    except Exception as error:  # noqa: BLE001 - the builders, which come next, say what is the matter
        logger.warning("P67: cannot tell yet what is served: %s: %s", type(error).__name__, error)
        return support
    return support if all(one > drafts for one in served) else less
