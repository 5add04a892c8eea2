"""What tq_codebook decides without torch: refusals, layouts and cuts."""

from __future__ import annotations

import dataclasses

import pytest

from genesisd.kernels.tq_codebook import Setting, cases, layout_of, refusal
from genesisd.kernels.tq_codebook.guards import codebook_refusal
from genesisd.kernels.tq_codebook.plan import Shape, blocks_of, candidates, plan_for, shared_bytes, shared_room


def setting(**changes):
    """What a Qwen3 runs with on Hopper, with changes."""
    layout = layout_of("4bit_nc", 128)
    usual = Setting("4bit_nc", layout, True, 16, 32, 8, 5, (9, 0), (16 * 8 * 134, 134, 16 * 134))
    return dataclasses.replace(usual, **changes)


@pytest.mark.parametrize(
    ("kind", "head_dim", "key", "value", "slot"),
    [
        ("4bit_nc", 128, 66, 68, 134),
        ("4bit_nc", 256, 130, 132, 262),
        ("k3v4_nc", 128, 50, 68, 118),
        ("k3v4_nc", 256, 98, 132, 230),
        ("k3v4_nc", 64, 26, 36, 62),
    ],
)
def test_the_layout_of_each_kind(kind, head_dim, key, value, slot):
    """Indexes and a norm, values with scale and zero, and no padding: every slot begins in the middle of a word or not."""
    found = layout_of(kind, head_dim)
    assert (found.key_bytes, found.value_bytes, found.slot_bytes) == (key, value, slot)
    assert found.slot_bytes % 4 == 2


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"kind": "k3v4_nc", "layout": layout_of("k3v4_nc", 128)},
        {"layout": layout_of("4bit_nc", 64)},
        {"layout": layout_of("4bit_nc", 512)},
        {"page_size": 112},
        {"max_query_len": 16},
        {"capability": (8, 6)},
    ],
)
def test_is_served(changes):
    """What the kernel can read is not refused."""
    assert refusal(setting(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"kind": "3bit_nc"}, "the cache kind 3bit_nc: 4bit_nc and k3v4_nc are served"),
        ({"kind": "k8v4"}, "the cache kind k8v4"),
        ({"norm_correction": False}, "a backend that takes a key's entries as they are"),
        ({"layout": layout_of("k3v4_nc", 128)}, "3 key bits at head_dim 128, but the kernel reads 4"),
        (
            {"layout": dataclasses.replace(layout_of("4bit_nc", 128), value_bytes=66)},
            "66 value bytes at head_dim 128, but the kernel reads 68",
        ),
        (
            {"layout": dataclasses.replace(layout_of("4bit_nc", 128), slot_bytes=144)},
            "144 slot bytes at head_dim 128, but the kernel reads 134",
        ),
        ({"cache_strides": (17154, 134, 2144)}, "pages must be multiples of 4 apart"),
        ({"cache_strides": (17152, 135, 2144)}, "slots of 2"),
        ({"cache_strides": (2144, 134, 2**30)}, "heads of a page that lie 7516194912 bytes apart"),
        ({"layout": layout_of("4bit_nc", 96)}, "head_dim 96: 64, 128, 256, 512 are served"),
        ({"page_size": 24}, "pages of 24 tokens"),
        ({"query_heads": 12}, "12 query heads cannot be shared out to 8 KV heads"),
        ({"max_query_len": 17}, "17 query tokens a sequence: 1 to 16 are served"),
        ({"capability": (7, 5)}, "compute capability 7.5: 8.0 or newer"),
        ({"softcap": 50.0}, "a logits soft cap of 50.0"),
        ({"sliding_window": 4096}, "a sliding window of 4096"),
    ],
)
def test_is_refused_with_the_reason(changes, reason):
    """What would be read wrongly is refused, and the reason names what was found."""
    assert reason in refusal(setting(**changes))


@pytest.mark.parametrize(
    ("codebook", "reason"),
    [
        ([-2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.0], None),
        ([-2.0, -1.0, 1.0, 2.0], "4 entries in the codebook of 3-bit keys: 8 are needed"),
        ([-2.0, -1.0, -0.5, -0.1, 0.1, 0.5, 1.0, 2.1], "not the same below and above zero (-2.0 and 2.1)"),
        ([2.0, 1.0, 0.5, 0.1, -0.1, -0.5, -1.0, -2.0], "not the same below and above zero"),
        ([0.0] * 8, "a codebook whose largest entry is 0"),
    ],
)
def test_a_codebook_that_cannot_be_halved_is_refused(codebook, reason):
    """The kernel keeps the entries below zero and mirrors them."""
    found = codebook_refusal(codebook, 3)
    assert found is None if reason is None else reason in found


@pytest.mark.parametrize("head_dim", [64, 128, 256, 512])
@pytest.mark.parametrize(("group", "count"), [(3, 1), (8, 1), (8, 6), (16, 16)])
@pytest.mark.parametrize("capability", [(8, 0), (8, 6), (9, 0), (12, 0)])
def test_a_wave_of_programs_has_all_rows(head_dim, group, count, capability):
    """Blocks of a power of two hold every row, splits fill the device but once, and all of them have room."""
    shape = Shape(8, 2, group, head_dim, count, capability, 132)
    for plan in candidates(shape):
        assert (shared_bytes(plan, head_dim) + 1024) * plan.resident <= shared_room(capability)
        assert plan.rows.bit_count() == 1
        assert plan.rows >= 16
        assert blocks_of(plan, shape) * plan.rows >= group * count
        programs = plan.splits * 8 * 2 * blocks_of(plan, shape)
        assert plan.splits == 1 or programs <= 132 * plan.resident


def test_a_sweep_times_the_plan_first_and_once():
    """What a sweep times begins with what serves today."""
    shape = Shape(1, 1, 8, 256, 6, (9, 0), 132)
    found = candidates(shape)
    assert found[0] == plan_for(shape)
    assert len(set(found)) == len(found)


def test_both_kinds_are_tested_and_measured():
    """No kind is left out of any set of cases."""
    for chosen in (cases.CPU_EDGES, cases.GPU_EDGES, cases.BENCHED):
        assert {case.kind for case in chosen} == set(cases.KEY_BITS)
