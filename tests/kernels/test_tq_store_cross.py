"""tq_store compiled for devices that are not there."""

from __future__ import annotations

import pytest

from tests.helpers.not_interpreted import lines_of

pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

SHAPES = ((256, 1, 1), (256, 2, 10**6), (128, 8, 64), (128, 8, 10**6), (96, 3, 10**6), (512, 1, 10**6))
COMPILE = """
import dataclasses, json, sys
from genesisd.kernels.tq_store.cross import needs
from genesisd.kernels.tq_store.plan import Shape, plan_for
capability, shapes = json.loads(sys.argv[1])
asked = [(shape, "bf16") for shape in shapes] + [(shapes[2], "fp16"), (shapes[2], "fp32")]
for (dim, heads, rows), activations in asked:
    found = dataclasses.asdict(needs(plan_for(Shape(rows, dim, 132)), tuple(capability), dim, heads, activations))
    ptx = found.pop("ptx")
    found |= {"narrow": "st.global.b8" in ptx, "saturates": "satfinite.e4m3x2" in ptx}
    found |= {"divides": "div.full.f32" in ptx, "loads": "ld.global.v4" in ptx}
    print(json.dumps(found | {"shape": [dim, heads, rows, activations]}))
"""


@pytest.fixture(scope="module", params=[(8, 6), (9, 0)], ids=["sm_86", "sm_90"])
def compiled(request):
    """Every shape's kernel; not interpreted, so in a process of its own."""
    return request.param, lines_of(COMPILE, [request.param, SHAPES])


def test_nothing_spills_and_little_memory_is_shared(compiled):
    """No register is spilled, and shared memory never limits how many programs there are."""
    _, found = compiled
    assert [one for one in found if one["stack_bytes"] or one["shared_bytes"] > 8192] == []


def test_bytes_leave_in_words(compiled):
    """16 bytes a load and 4 a store: single bytes are what the engine's kernel stores."""
    _, found = compiled
    assert [one for one in found if one["narrow"] or not one["loads"]] == []


def test_conversion_and_division_are_the_engine_s(compiled):
    """The device's own conversion where the engine has it, and the approximate division, which decides ties."""
    capability, found = compiled
    assert all(one["saturates"] == (capability == (9, 0)) for one in found)
    assert all(one["divides"] for one in found)
