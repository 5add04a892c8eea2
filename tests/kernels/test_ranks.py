"""Ranks that have a part of each layer, two real processes that talk to each other."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")

RANK = """
import sys
from datetime import timedelta
from types import SimpleNamespace

import torch.distributed as dist

from genesisd.carried import trial, turboquant

rank, wrong = int(sys.argv[1]), sys.argv[3]
dist.init_process_group("gloo", f"file://{sys.argv[2]}", timedelta(seconds=120), world_size=2, rank=rank)
tp = SimpleNamespace(cpu_group=dist.group.WORLD)
sys.modules["vllm.distributed.parallel_state"] = SimpleNamespace(get_tp_group=lambda: tp)


def refuted(*_):
    if rank == 1 and wrong == "raises":
        raise MemoryError("no room to try it")
    return "it answers wrong here" if rank == 1 and wrong == "refuted" else None


trial.refuted, turboquant.launching = refuted, lambda: None
turboquant._refusal = turboquant._setting = lambda *_: None
config = SimpleNamespace(
    compilation_config=SimpleNamespace(static_forward_context={"layer": SimpleNamespace(impl=None)}),
    parallel_config=SimpleNamespace(tensor_parallel_size=2),
    scheduler_config=SimpleNamespace(max_num_seqs=4),
    model_config=SimpleNamespace(dtype=None),
    speculative_config=SimpleNamespace(num_speculative_tokens=3),
)
builder = SimpleNamespace(vllm_config=config, layer_names=["layer"], reorder_batch_threshold=4, device="cpu")
try:
    print(turboquant.serves(builder), *turboquant._genesis_skips["P67"])
except MemoryError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nothing", ["4", "4"]),
        ("refuted", ["0 decoding: another rank does not serve it", "0 decoding: it answers wrong here"]),
        ("raises", ["0 decoding: another rank does not serve it", "no room to try it"]),
    ],
)
def test_where_one_rank_stands_aside_all_do(tmp_path, wrong, said):
    """They would order a batch differently, and add up rows of different requests."""
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", RANK]
    ranks = [
        subprocess.Popen(
            [*command, str(rank), tmp_path / "store", wrong],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    told = [rank.communicate() for rank in ranks]
    assert [out.strip() for out, _ in told] == said, [error[-2000:] for _, error in told]
