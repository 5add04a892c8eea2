from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.helpers.not_interpreted import lines_of

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

SHAPES = ((256, 8, 6), (256, 8, 1), (256, 6, 5), (128, 4, 5), (128, 4, 1), (64, 4, 1))
TAILS = ((256, 8, 6), (256, 6, 5), (256, 8, 1), (128, 4, 1))
COMPILE = """
import dataclasses, json, sys
from genesisd.kernels.tq_verify.cross import needs
from genesisd.kernels.tq_verify.plan import Shape, plan_for
capability, shapes, tails = json.loads(sys.argv[1])
for dim, group, count, tail in [(*shape, False) for shape in shapes] + [(*shape, True) for shape in tails]:
    plan = plan_for(Shape(8, 1, group, dim, count, tuple(capability), 64, tail=tail))
    found = dataclasses.asdict(needs(plan, tuple(capability), dim, group, count, tail=tail))
    found["bfloat16_products"] = any("mma" in line and "bf16" in line for line in found["ptx"].splitlines())
    found["wide_loads"] = "cp.async" in found["ptx"]
    found["hopper_products"] = "wgmma" in found.pop("ptx")
    print(json.dumps(found | {"shape": [dim, group, count], "tail": tail}))
"""


@pytest.fixture(scope="module", params=[(8, 6), (9, 0), (12, 0)], ids=["sm_86", "sm_90", "sm_120"])
def compiled(request):
    """Every shape's kernel, compiled for a device that is not there; not interpreted, so in a process of its own."""
    return request.param, lines_of(COMPILE, [request.param, SHAPES, TAILS])


def test_nothing_spills_and_shared_memory_suffices(compiled):
    """No register is spilled; two programs share Hopper's 227 KiB of shared memory, and the others have 99."""
    capability, found = compiled
    room = 227 * 1024 // 2 - 1024 if capability == (9, 0) else 99 * 1024
    assert [one for one in found if one["stack_bytes"] or one["shared_bytes"] > room] == []


def test_loads_are_asynchronous_and_products_the_device_s_own(compiled):
    """The copies to shared memory are pipelined, and on Hopper the warp-group products are used."""
    capability, found = compiled
    assert all(one["wide_loads"] for one in found)
    assert all(one["hopper_products"] == (capability == (9, 0)) for one in found)


def test_nothing_of_a_tail_is_compiled_where_there_is_none(compiled):
    """Its products are the only ones of bfloat16, and the programs beside it take the memory they take without."""
    _, found = compiled
    assert all(one["bfloat16_products"] == one["tail"] for one in found)
    memory = {(*one["shape"], one["tail"]): one["shared_bytes"] for one in found}
    assert all(memory[*shape, True] == memory[*shape, False] for shape in TAILS)


WARP_GROUPS = """
import dataclasses, json, sys
from genesisd.kernels.tq_verify import hopper, nvrtc
from genesisd.kernels.tq_verify.cross import needs
from genesisd.kernels.tq_verify.plan import Shape, plan_for
if nvrtc.library() is None:
    sys.exit(77)
for dim, group, count in json.loads(sys.argv[1]):
    plan = plan_for(Shape(8, 2, group, dim, count, (9, 0), 132, warp_groups=True))
    found = dataclasses.asdict(needs(plan, (9, 0), dim, group, count))
    print(json.dumps(found | {"resident": plan.resident, "shape": [dim, group, count]}))
hopper.merge_code(256, 16, 8, 48, 1, 128, 6, 4, False, 24)
"""


def test_programs_of_warp_groups_share_a_multiprocessor():
    """The form in CUDA compiles, and as many programs as its plan says have room in Hopper's registers and memory."""
    shapes = [shape for shape in SHAPES if shape[0] != 64]
    done = subprocess.run(
        [sys.executable, "-c", WARP_GROUPS, json.dumps([*shapes, (256, 16, 16), (128, 16, 16)])],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip("no libnvrtc: it comes with torch for CUDA, or by pip install nvidia-cuda-nvrtc")
    assert done.returncode == 0, done.stderr[-3000:]
    for one in map(json.loads, done.stdout.splitlines()):
        assert one["stack_bytes"] <= 16, one
        assert one["registers"] * 128 * one["resident"] <= 65536, one
        assert (one["shared_bytes"] + 1024) * one["resident"] <= 228 * 1024, one
