"""tq_codebook compiled for devices that are not there."""

from __future__ import annotations

import pytest

from tests.helpers.not_interpreted import lines_of

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

SHAPES = (
    ("4bit_nc", 64, 8, 1), ("4bit_nc", 128, 4, 1), ("4bit_nc", 128, 4, 5), ("k3v4_nc", 128, 8, 6), ("4bit_nc", 256, 8, 1),
    ("k3v4_nc", 256, 8, 1), ("4bit_nc", 256, 8, 6), ("k3v4_nc", 512, 8, 6),
)  # fmt: skip
COMPILE = """
import dataclasses, json, sys
from genesisd.kernels.tq_codebook.cross import needs, rotation_needs
from genesisd.kernels.tq_codebook.plan import Shape, plan_for, shared_bytes
capability, shapes = json.loads(sys.argv[1])
for kind, dim, group, count in shapes:
    plan = plan_for(Shape(8, 1, group, dim, count, tuple(capability), 64))
    found = dataclasses.asdict(needs(plan, tuple(capability), kind, dim, group, count))
    found["copies"] = "cp.async.ca" in found["ptx"]
    found["products"] = "mma.sync" in found["ptx"] or "wgmma" in found["ptx"]
    found["shape"] = [kind, dim, group, count]
    del found["ptx"]
    print(json.dumps(found | dataclasses.asdict(plan) | {"told": shared_bytes(plan, dim)}))
turn = dataclasses.asdict(rotation_needs(tuple(capability), 256))
print(json.dumps({name: turn[name] for name in ("stack_bytes", "shared_bytes", "registers")} | {"turn": True}))
"""


@pytest.fixture(scope="module", params=[(8, 6), (9, 0), (12, 0)], ids=["sm_86", "sm_90", "sm_120"])
def compiled(request):
    """Every shape's kernel; not interpreted, so in a process of its own."""
    return request.param, lines_of(COMPILE, [request.param, SHAPES])


def test_nothing_spills_and_shared_memory_suffices(compiled):
    """No register is spilled, and a program has room in a multiprocessor's shared memory."""
    capability, found = compiled
    room = 227 * 1024 if capability == (9, 0) else 99 * 1024
    assert [one for one in found if one["stack_bytes"] or one["shared_bytes"] > room] == []


def test_as_many_programs_fit_as_the_plan_says(compiled):
    """Registers and shared memory leave room for the programs that make a wave, and the plan knows what they need."""
    capability, found = compiled
    memory = 228 * 1024 if capability == (9, 0) else 100 * 1024
    for one in found:
        if "turn" in one:
            continue
        assert one["shared_bytes"] <= one["told"], one
        assert one["registers"] * 32 * one["warps"] * one["resident"] <= 65536, one
        assert (one["shared_bytes"] + 1024) * one["resident"] <= memory, one


def test_bytes_are_copied_asynchronously(compiled):
    """The cache goes to shared memory by the pipelined copies, and the products are the device's own."""
    _, found = compiled
    assert all(one["copies"] and one["products"] for one in found if "turn" not in one)
