from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

SHAPES = ((256, 8, 6), (256, 8, 1), (256, 6, 5), (128, 4, 5), (128, 4, 1), (64, 4, 1))
COMPILE = """
import dataclasses, json, sys
from genesisd.kernels.tq_verify.cross import needs
from genesisd.kernels.tq_verify.plan import Shape, plan_for
capability, shapes = json.loads(sys.argv[1])
for dim, group, count in shapes:
    plan = plan_for(Shape(8, 1, group, dim, count, tuple(capability), 64))
    found = dataclasses.asdict(needs(plan, tuple(capability), dim, group, count))
    found["wide_loads"] = "cp.async" in found["ptx"]
    found["hopper_products"] = "wgmma" in found.pop("ptx")
    print(json.dumps(found | {"shape": [dim, group, count]}))
"""


@pytest.fixture(scope="module", params=[(8, 6), (9, 0)], ids=["sm_86", "sm_90"])
def compiled(request):
    """Every shape's kernel, compiled for a device that is not there; not interpreted, so in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", COMPILE, json.dumps([request.param, SHAPES])],
        env=os.environ | {"TRITON_INTERPRET": "0", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return request.param, [json.loads(line) for line in done.stdout.splitlines()]


def test_nothing_spills_and_shared_memory_suffices(compiled):
    """No register is spilled; an sm_86 has 99 KiB of shared memory, and two programs share Hopper's 227."""
    capability, found = compiled
    room = 99 * 1024 if capability == (8, 6) else 227 * 1024 // 2 - 1024
    assert [one for one in found if one["stack_bytes"] or one["shared_bytes"] > room] == []


def test_loads_are_asynchronous_and_products_the_device_s_own(compiled):
    """The copies to shared memory are pipelined, and on Hopper the warp-group products are used."""
    capability, found = compiled
    assert all(one["wide_loads"] for one in found)
    assert all(one["hopper_products"] == (capability == (9, 0)) for one in found)
