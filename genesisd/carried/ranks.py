"""What ranks of one engine decide alike.

The engine puts a batch in order by how many new tokens are a decode. Tensor-parallel ranks add up what they have of each
row, and a pipeline's stages hand rows on by their places: where one counted otherwise, requests would be mixed up.
Graphs of other sizes would be captured too, each waiting for what another rank never does; with data parallelism a
model's experts wait alike.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import torch

ANY = 2**31
"""What a rank says that has no such layers: the others decide."""


class Served(NamedTuple):
    """Query tokens served in each layer: on this rank by itself, and as all ranks agree."""

    here: dict[str, int]
    everywhere: dict[str, int]


_AGREED: dict[int, tuple[Any, Served]] = {}
"""By the engine's layers, which are held so that no others get their identity."""


def agreed(vllm_config: Any, ask: Callable[[], dict[str, int] | None]) -> Served:
    """What is served in each layer, asked once for all layers together.

    So ranks wait for each other equally often, however many kinds of layers they have and whatever fails on one: where
    ``ask`` cannot tell (None), or raises, the others hear that nothing is served.
    """
    layers = vllm_config.compilation_config.static_forward_context
    if id(layers) not in _AGREED:
        here = None
        try:
            here = ask()
        finally:  # the others wait for an answer, whatever happened here
            served = Served(here or {}, _shared(vllm_config.parallel_config, here))
            _AGREED[id(layers)] = layers, served
    return _AGREED[id(layers)][1]


def _shared(parallel: Any, here: dict[str, int] | None) -> dict[str, int]:
    """Tensor-parallel ranks have parts of the same layers; others have layers of their own, and order batches alike."""
    served = here or {}
    if parallel.tensor_parallel_size > 1:
        everyone = _everyone("get_tp_group", served)
        served = {name: min(one.get(name, 0) for one in everyone) for name in served}
    own = most = 1 if here is None else _decode(served)
    if getattr(parallel, "pipeline_parallel_size", 1) > 1:
        most = min(_everyone("get_pp_group", most))
    if getattr(parallel, "data_parallel_size", 1) > 1 and not getattr(parallel, "enable_elastic_ep", False):
        most = min(_everyone("get_dp_group", most))  # elastic ranks come one after the other: none would answer
    return {name: min(number, most) if most < own else number for name, number in served.items()}


def _decode(served: dict[str, int]) -> int:
    """How many new tokens are a decode on a rank: to the engine the least of its layers decides, and one always is."""
    return max(1, min(served.values(), default=ANY))


def _everyone(group: str, mine: Any) -> list[Any]:
    """What each rank of a group says."""
    cpu_group = getattr(sys.modules["vllm.distributed.parallel_state"], group)().cpu_group
    told = [mine] * torch.distributed.get_world_size(cpu_group)
    torch.distributed.all_gather_object(told, mine, group=cpu_group)
    return told
