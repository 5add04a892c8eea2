from __future__ import annotations

import dataclasses

import pytest

from genesisd.kernels.tq_verify import K8V4, SlotLayout, refusal
from genesisd.kernels.tq_verify.guards import Rows, Setting, tail_refusal


def setting(**changes):
    """What a Qwen3 runs with on Hopper, with changes."""
    layout = K8V4(128)
    usual = Setting(layout, 16, 32, 8, 5, (9, 0), "e4nv", (16 * 8 * layout.slot_bytes, 8 * layout.slot_bytes, 196))
    return dataclasses.replace(usual, **changes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"query_heads": 48},
        {"page_size": 784},
        {"max_query_len": 1},
        {"max_query_len": 16},
        {"layout": K8V4(64)},
        {"layout": K8V4(512)},
        {"layout": K8V4(96)},
        {"capability": (8, 6), "fp8_format": "e4b15"},
        {"capability": (8, 9)},
        {"cache_strides": (25088, 196, 3136)},
        {"cache_strides": (3136, 196, 2**30 - 4)},
    ],
)
def test_is_served(changes):
    """What the kernels can read is not refused."""
    assert refusal(setting(**changes)) is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"layout": SlotLayout(128, 128, 66, 194)},
            "the cache has another layout: 66 value bytes at head_dim 128, but the kernel reads 68",
        ),
        ({"layout": SlotLayout(128, 66, 68, 134)}, "66 key bytes at head_dim 128, but the kernel reads 128"),
        ({"layout": SlotLayout(128, 128, 68, 208)}, "208 slot bytes at head_dim 128, but the kernel reads 196"),
        ({"cache_strides": (25090, 1568, 196)}, "not all multiples of 4"),
        ({"cache_strides": (3136, 196, 2**30)}, "KV heads lie 1073741824 bytes apart"),
        ({"layout": K8V4(60)}, "head_dim 60 is not a multiple of 8 from 64 to 512"),
        ({"layout": K8V4(576)}, "head_dim 576 is not"),
        ({"page_size": 24}, "pages of 24 tokens"),
        ({"query_heads": 12}, "12 query heads cannot be shared out to 8 KV heads"),
        ({"max_query_len": 17}, "17 query tokens a sequence: 1 to 16 are served"),
        ({"max_query_len": 0}, "0 query tokens"),
        ({"capability": (7, 5)}, "compute capability 7.5: 8.0 or newer"),
        ({"capability": (8, 6)}, "keys stored as e4nv, but this device's format is e4b15"),
        ({"fp8_format": "e4b15"}, "keys stored as e4b15, but this device's format is e4nv"),
        ({"softcap": 50.0}, "a logits soft cap of 50.0"),
        ({"sliding_window": 4096}, "a sliding window of 4096"),
    ],
)
def test_is_refused_with_the_reason(changes, reason):
    """What would be read wrongly is refused, and the reason names what was found."""
    assert reason in refusal(setting(**changes))


QUERY = Rows((6, 32, 128), (6144, 128, 1), "torch.bfloat16")
TAIL = Rows((6, 8, 128), (6144, 128, 1), "torch.bfloat16")


def of_tail(key=TAIL, value=TAIL, form="query-major", splits=2):
    """What is said of a tail of 8 KV heads."""
    return tail_refusal(QUERY, key, value, kv_heads=8, form=form, splits=splits)


def test_a_tail_within_the_layer_s_rows_is_read():
    """Only a token's heads have to follow each other."""
    assert of_tail() is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": None}, "no tail_key: a tail has both"),
        ({"value": None}, "no tail_value: a tail has both"),
        (
            {"value": dataclasses.replace(TAIL, shape=(5, 8, 128))},
            "tail_value of shape [5, 8, 128]: [6, 8, 128] is needed",
        ),
        (
            {"key": dataclasses.replace(TAIL, dtype="torch.float16")},
            "tail_key holds torch.float16 and the query torch.bfloat16",
        ),
        ({"key": dataclasses.replace(TAIL, strides=(1024, 1, 8))}, "tail_key's heads do not follow each other"),
        ({"form": "warp-group"}, "form warp-group and 2 splits has no program for a tail"),
        ({"splits": 1}, "form query-major and 1 splits has no program for a tail"),
    ],
)
def test_a_tail_is_refused_with_the_reason(changes, reason):
    """What no program would read, or read wrongly, is told before it is launched."""
    assert reason in of_tail(**changes)
