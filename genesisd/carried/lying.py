"""How a group's cache lies and what reads it, whatever is in a slot."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch


class Lying(NamedTuple):
    """What the settings of both operations tell in the same words."""

    page_size: int
    query_heads: int
    kv_heads: int
    max_query_len: int
    capability: tuple[int, int]
    cache_strides: tuple[int, int, int]
    sliding_window: int
    device: torch.device

    def shared(self) -> dict[str, Any]:
        """By the names that the settings have for it."""
        return {name: value for name, value in self._asdict().items() if name != "device"}
