"""Ranks of one engine: real processes that talk to each other, as one tensor-parallel group, as stages, or as replicas."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")

RANK = """
import os
import sys
import time
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import torch.distributed as dist

from genesisd.carried import trial, turboquant

rank, kind, layers, wrong = int(sys.argv[1]), sys.argv[3], sys.argv[4].split(","), sys.argv[5]
dist.init_process_group("gloo", f"file://{sys.argv[2]}", timedelta(seconds=120), world_size=2, rank=rank)
group = SimpleNamespace(cpu_group=dist.group.WORLD)
sys.modules["vllm.distributed.parallel_state"] = SimpleNamespace(**{f"get_{kind}_group": lambda: group})


def refuted(*_):
    if wrong == "raises":
        raise MemoryError("no room to try it")
    return "it answers wrong here" if wrong == "refuted" else None


def refusal(builder, _layers, tokens):
    if wrong == "elsewhere":
        raise OSError("the second kind of layer")
    return "a window" if builder.layer_names == ["window"] else None


def foreseen(config, _device):
    for name in config.compilation_config.static_forward_context:
        yield builder(name)


def builder(name):
    return SimpleNamespace(vllm_config=config, layer_names=[name], reorder_batch_threshold=4, device="cpu")


trial.refuted, turboquant.foreseen = refuted, foreseen
turboquant._refusal, turboquant._operation = refusal, lambda *_: SimpleNamespace(launching=lambda: None)
names = [name for name in layers if name]
config = SimpleNamespace(
    compilation_config=SimpleNamespace(static_forward_context={name: SimpleNamespace(impl=None) for name in names}),
    parallel_config=SimpleNamespace(
        tensor_parallel_size=2 if kind == "tp" else 1,
        pipeline_parallel_size=2 if kind == "pp" else 1,
        data_parallel_size=2 if kind == "dp" else 1,
    ),
    scheduler_config=SimpleNamespace(max_num_seqs=4),
    model_config=SimpleNamespace(dtype=None),
    speculative_config=SimpleNamespace(num_speculative_tokens=3),
)
turboquant.agree(config, "cpu")
print(*(turboquant.serves(builder(name)) for name in names), *turboquant._genesis_skips["P67"], sep="; ", flush=True)
Path(f"{sys.argv[2]}-{rank}").touch()
until = time.monotonic() + 120
while not Path(f"{sys.argv[2]}-{1 - rank}").exists():  # one that leaves while another still talks to it ends that one
    if time.monotonic() > until:
        sys.exit("the other rank said nothing")
    time.sleep(0.01)
os._exit(0)  # gloo's threads are not over when the interpreter takes them down: now and then that ends in an abort
"""
ASIDE = "another rank does not serve it"
FEWER = f"verifying 4 tokens a sequence: {ASIDE}"
RAISED = "decoding: cannot tell whether it is served: MemoryError: no room to try it"


def told(tmp_path, kind, *ranks):
    """What each of them says in the end; each is given its layers, and what is wrong with it."""
    environment = os.environ | {"GLOO_SOCKET_IFNAME": "lo", "PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", RANK, str(number), tmp_path / "store", kind, *rank],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number, rank in enumerate(ranks)
    ]
    said = [rank.communicate() for rank in running]
    assert all(rank.returncode == 0 for rank in running), [error[-2000:] for _, error in said]
    return [out.strip() for out, _ in said]


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("nothing", ["4", "4"]),
        ("refuted", [f"0; decoding: {ASIDE}", "0; decoding: it answers wrong here"]),
        ("raises", [f"0; decoding: {ASIDE}", f"0; {RAISED}"]),
    ],
)
def test_where_one_rank_stands_aside_all_do(tmp_path, wrong, said):
    """They would order a batch differently, and add up rows of different requests."""
    assert told(tmp_path, "tp", ("layer", "nothing"), ("layer", wrong)) == said


def test_a_rank_that_fails_at_its_first_kind_of_layers_keeps_nobody_waiting(tmp_path):
    """Ranks ask each other once, not once for each kind: one that fails is told, and the others go on."""
    first, second = told(tmp_path, "tp", ("layer,other", "nothing"), ("layer,other", "elsewhere"))
    assert first == f"0; 0; decoding: {ASIDE}"
    assert second == "0; 0; decoding: cannot tell whether it is served: OSError: the second kind of layer"


@pytest.mark.parametrize("kind", ["pp", "dp"])
@pytest.mark.parametrize(
    ("layers", "wrong", "said"),
    [
        ("other", "nothing", ["4", "4"]),
        ("other", "refuted", [f"1; {FEWER}", "0; decoding: it answers wrong here"]),
        ("other", "raises", [f"1; {FEWER}", f"0; {RAISED}"]),
        ("other,window", "nothing", [f"1; {FEWER}", "4; 0; decoding: a window"]),
        ("", "nothing", ["4", ""]),
    ],
    ids=["both serve", "one is wrong", "one raises", "one has two kinds of layers", "one has no such layers"],
)
def test_what_is_a_decode_is_alike_in_stages_and_replicas(tmp_path, kind, layers, wrong, said):
    """Stages hand rows on by their places, replicas capture graphs together: each keeps to its own in all else."""
    assert told(tmp_path, kind, ("layer", "nothing"), (layers, wrong)) == said
