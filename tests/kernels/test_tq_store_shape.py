"""What tq_store decides without torch: refusals and cuts."""

from __future__ import annotations

import dataclasses

import pytest

from genesisd.kernels.tq_store import Setting, cases, refusal
from genesisd.kernels.tq_store.plan import Shape, candidates, plan_for
from genesisd.kernels.tq_verify import K8V4, SlotLayout


def setting(**changes):
    """A Qwen3's cache on Hopper, with changes."""
    return dataclasses.replace(Setting(K8V4(128), (9, 0), "e4nv", (16 * 8 * 196, 8 * 196, 196)), **changes)


@pytest.mark.parametrize(
    "changes", [{}, {"layout": K8V4(72)}, {"layout": K8V4(512)}, {"capability": (8, 6), "fp8_format": "e4b15"}]
)
def test_is_served(changes):
    """What the kernel can write is not refused."""
    assert refusal(setting(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layout": SlotLayout(128, 128, 66, 194)}, "66 value bytes at head_dim 128, but the kernel writes 68"),
        ({"layout": SlotLayout(128, 66, 68, 134)}, "66 key bytes"),
        ({"layout": SlotLayout(128, 128, 68, 208)}, "208 slot bytes"),
        ({"layout": K8V4(60)}, "head_dim 60 is not a multiple of 8 from 64 to 512"),
        ({"cache_strides": (25090, 1568, 196)}, "not all multiples of 4"),
        ({"capability": (7, 5)}, "compute capability 7.5"),
        ({"capability": (8, 6)}, "keys read as e4nv, but this device's format is e4b15"),
    ],
)
def test_is_refused_with_the_reason(changes, reason):
    """What would be written wrongly is refused, and the reason names what was found."""
    assert reason in refusal(setting(**changes))


@pytest.mark.parametrize("head_dim", [64, 72, 128, 256, 320, 512])
@pytest.mark.parametrize("rows", [1, 8, 5000, 10**6])
def test_programs_hold_a_power_of_two_of_rows(rows, head_dim):
    """Each warp has whole rows; many rows get programs of more than one warp."""
    plan = plan_for(Shape(rows, head_dim, 132))
    assert plan.rows.bit_count() == 1
    assert plan.rows % plan.warps == 0
    assert (plan.warps > 1) == (rows == 10**6 or (rows == 5000 and head_dim > 64))


def test_a_sweep_times_the_plan_first_and_once():
    """What a sweep times begins with what serves today."""
    found = candidates(Shape(8, 128, 132))
    assert found[0] == plan_for(Shape(8, 128, 132))
    assert len(set(found)) == len(found)


def test_what_is_benchmarked_is_decoding_and_prefill():
    """From one token to a whole chunk of a prompt, as the layer before leaves them."""
    assert {1, 8, 8192} <= {case.tokens for case in cases.BENCHED}
    assert all(case.wide for case in cases.BENCHED)
