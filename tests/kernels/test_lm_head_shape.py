"""What lm_head_fp8 decides without torch: refusals and cuts."""

from __future__ import annotations

import dataclasses

import pytest

from genesisd.kernels.lm_head_fp8 import Setting, cases, refusal
from genesisd.kernels.lm_head_fp8.plan import Shape, candidates, plan_for

H200 = {"capability": (9, 0), "processors": 132}
A5000 = {"capability": (8, 6), "processors": 64}


def setting(**changes):
    """A Qwen3's output layer on Hopper, with changes."""
    return dataclasses.replace(Setting(4096, 151936, 4096, "bfloat16", (9, 0)), **changes)


@pytest.mark.parametrize(
    "changes", [{}, {"hidden": 2048}, {"activations": "float16"}, {"capability": (8, 6)}, {"channels": 1}]
)
def test_is_served(changes):
    """What the kernel can read is not refused."""
    assert refusal(setting(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hidden": 4100, "weight_stride": 4112}, "a hidden size of 4100 is not a positive multiple of 16"),
        ({"hidden": 0}, "a hidden size of 0"),
        ({"channels": 0}, "0 channels"),
        ({"weight_stride": 4104}, "channels 4104 bytes apart"),
        ({"weight_stride": 2048}, "channels 2048 bytes apart: a multiple of 16 from 4096 is needed"),
        ({"activations": "float32"}, "activations in float32"),
        ({"capability": (7, 5)}, "compute capability 7.5"),
        ({"bias": True}, "a bias"),
    ],
)
def test_is_refused_with_the_reason(changes, reason):
    """What would be read wrongly is refused, and the reason names what was found."""
    assert reason in refusal(setting(**changes))


@pytest.mark.parametrize("rows", [1, 2, 7, 8, 9, 16, 33, 64, 65, 1000])
@pytest.mark.parametrize("device", [H200, A5000], ids=["sm_90", "sm_86"])
def test_up_to_64_rows_read_the_weights_once(rows, device):
    """One program has all rows, in a power of two; beyond 64 there are blocks of them."""
    plan = plan_for(Shape(rows, 4096, 151936, **device))
    assert plan.rows >= min(rows, 64)
    assert plan.rows in {8, 16, 32, 64}


@pytest.mark.parametrize("device", [H200, A5000], ids=["sm_90", "sm_86"])
@pytest.mark.parametrize("channels", [248320, 151936, 248320 // 8, 151936 // 8, 6400])
def test_every_multiprocessor_has_its_programs(channels, device):
    """Also an eighth of a vocabulary fills the device, without a split over the hidden size."""
    plan = plan_for(Shape(1, 2048, channels, **device))
    assert -(-channels // plan.channels) >= device["processors"] * plan.resident


@pytest.mark.parametrize("channels", [1, 15, 16, 100])
def test_tiles_never_become_narrower_than_the_products(channels):
    """The matrix products take no fewer than 16 channels."""
    assert plan_for(Shape(1, 2048, channels, **H200)).channels == 16


def test_a_sweep_times_the_plan_first_and_once():
    """What a sweep times begins with what serves today."""
    shape = Shape(8, 4096, 151936, **H200)
    found = candidates(shape)
    assert found[0] == plan_for(shape)
    assert len(set(found)) == len(found)


def test_what_is_benchmarked_is_what_was_asked_for():
    """Three hidden sizes, two vocabularies, one to eight rows."""
    assert {(case.hidden, case.channels) for case in cases.BENCHED} == {
        (hidden, channels) for hidden in (2048, 4096, 5120) for channels in (151936, 248320)
    }
    assert {1, 8} <= {case.rows for case in cases.BENCHED}
