"""What ranks that have a part of each layer decide alike."""

from __future__ import annotations

import sys
from typing import Any

import torch


def least(vllm_config: Any, number: int) -> int:
    """The least that any of them says; all of them ask, as often as each other.

    The engine puts a batch in order by how many new tokens are a decode, and ranks add up what they have of each row. If
    one counted otherwise, rows of different requests would be added up; and graphs of other sizes would be captured,
    each waiting for what the other one never does.
    """
    if vllm_config.parallel_config.tensor_parallel_size == 1:
        return number
    group = sys.modules["vllm.distributed.parallel_state"].get_tp_group()
    told = torch.tensor(number)
    torch.distributed.all_reduce(told, torch.distributed.ReduceOp.MIN, group=group.cpu_group)
    return int(told.item())
