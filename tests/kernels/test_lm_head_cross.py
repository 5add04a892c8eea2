"""lm_head_fp8 compiled for devices that are not there."""

from __future__ import annotations

import pytest

from tests.helpers.not_interpreted import lines_of

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

ROWS = (1, 8, 16, 64)
COMPILE = """
import dataclasses, json, sys
from genesisd.kernels.lm_head_fp8.cross import needs
from genesisd.kernels.lm_head_fp8.plan import Shape, candidates, plan_for
capability, rows = json.loads(sys.argv[1])
processors = 64 if capability == [8, 6] else 132
shapes = [Shape(count, 4096, 151936, tuple(capability), processors) for count in rows]
asked = [(plan_for(shape), "bf16") for shape in shapes] + [(plan_for(shapes[1]), "fp16")]
if capability == [9, 0]:
    asked += [(plan, "bf16") for plan in candidates(shapes[1])[1:]]
for plan, activations in asked:
    found = dataclasses.asdict(needs(plan, tuple(capability), 4096, activations))
    found["copies"] = "cp.async" in found["ptx"]
    found["products"] = "mma.sync" in found["ptx"] or "wgmma" in found["ptx"]
    found["conversions"] = "cvt.rn.f16x2.e4m3x2" in found.pop("ptx")
    print(json.dumps(found | dataclasses.asdict(plan)))
"""


@pytest.fixture(scope="module", params=[(8, 6), (9, 0)], ids=["sm_86", "sm_90"])
def compiled(request):
    """Every plan's kernel; not interpreted, so in a process of its own."""
    return request.param, lines_of(COMPILE, [request.param, ROWS])


def test_nothing_spills_and_shared_memory_suffices(compiled):
    """No register is spilled, and a program has room in an sm_86's 99 KiB of shared memory, or Hopper's 227."""
    capability, found = compiled
    room = 99 * 1024 if capability == (8, 6) else 227 * 1024
    assert [one for one in found if one["stack_bytes"] or one["shared_bytes"] > room] == []


def test_as_many_programs_fit_as_the_plan_says(compiled):
    """Registers and shared memory leave room for the programs that hide each other's beginning and end."""
    capability, found = compiled
    memory = 100 * 1024 if capability == (8, 6) else 228 * 1024
    for one in found[: len(ROWS)]:
        assert one["registers"] * 32 * one["warps"] * one["resident"] <= 65536, one
        assert (one["shared_bytes"] + 1024) * one["resident"] <= memory, one


def test_bytes_are_copied_asynchronously_and_widened_by_shifts(compiled):
    """The weights go by shared memory to the matrix units, and no conversion of the device is in the way."""
    _, found = compiled
    assert all(one["copies"] and one["products"] and not one["conversions"] for one in found)
