"""A kernel as the operation of a route: what is its own is its own to say."""

from __future__ import annotations

import dataclasses
import types

import pytest

torch = pytest.importorskip("torch", reason="the kernels need torch and triton: pip install genesisd[kernels]")
pytest.importorskip("triton", reason="the kernels need torch and triton: pip install genesisd[kernels]")

from genesisd.carried.fp8_keys import Fp8Keys
from genesisd.kernels.tq_verify import K8V4
from genesisd.kernels.tq_verify.guards import Setting
from genesisd.kernels.tq_verify.plan import Plan, Shape, plan_for

CPU, PAGE, KV_HEADS = torch.device("cpu"), 16, 2


def test_both_ways_of_a_launch_that_lengths_choose_are_tried():
    """Small sequences would show the one for short batches alone."""
    operation = Fp8Keys(Setting(K8V4(256), PAGE, 16, KV_HEADS, 6, (9, 0), "e4nv", (1 << 20, 776, 388)))
    plan = plan_for(Shape(1, KV_HEADS, 8, 256, 6, (9, 0), 132, warp_groups=True))
    assert plan.narrow
    assert [one.narrow_to for one in operation.tried(plan)] == [plan.narrow_to, 0]
    plain = dataclasses.replace(plan, narrow=0)
    assert operation.tried(plain) == (plain,)


@pytest.mark.parametrize(("form", "others"), [("warp-group", True), ("token-major", False), ("query-major", False)])
def test_only_the_form_in_cuda_has_others_in_its_place(form, others):
    """It is left out on the device that is meant."""
    left_out = []
    launch = types.SimpleNamespace(hopper=types.SimpleNamespace(leave_out=lambda *given: left_out.append(given)))
    operation = Fp8Keys(Setting(K8V4(64), PAGE, 4, KV_HEADS, 3, (9, 0), "e4nv", (1 << 20, 200, 100)))
    assert operation.leaves_out(launch, Plan(form, 8, 64, "fp8", 3, 4, 1), CPU, "wrong") is others
    assert left_out == [(None, "wrong")] * others
