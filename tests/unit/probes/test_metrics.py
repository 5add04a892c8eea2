from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genesisd.probes.metrics import Values, buckets, moved, parse, samples, total
from tests.helpers.fakevllm.metrics import EMPTY, render

BASE = Values(10, 100, 50, 0.5, 2, 3)


def test_reads_the_series() -> None:
    """Each series lands in its field."""
    stats = EMPTY | {"iterations": 1, "prompt": 2, "generation": 3, "kv": 0.25, "running": 5, "waiting": 6}
    assert parse(render(stats, "tiny").encode()) == Values(1, 2, 3, 0.25, 5, 6)


def test_sums_engines_and_knows_the_old_name() -> None:
    """Several engines add up; gpu_cache_usage_perc is the KV gauge of older versions."""
    text = b'vllm:prompt_tokens_total{engine="0"} 1e3\nvllm:prompt_tokens_total{engine="1"} 2\nvllm:gpu_cache_usage_perc 0.5\n'
    assert parse(text) == Values(prompt=1002, kv=0.5)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe garbage",
        b"# HELP vllm:prompt_tokens_total 5\n",
        b"other_total 1\n",
        b"xvllm:prompt_tokens_total 5\n",
        b'vllm:prompt_tokens_total{a="b"} NaN\n',
        b'vllm:prompt_tokens_total_created{a="b"} 5\n',
    ],
)
def test_says_none_for_what_is_no_vllm(text: bytes) -> None:
    """Nothing readable is None, not zeros that would look like a frozen engine."""
    assert parse(text) is None


@pytest.mark.parametrize(
    ("changes", "is_movement", "of_tokens"),
    [
        ({}, False, False),
        ({"iterations": 11}, True, True),
        ({"prompt": 0}, True, True),
        ({"generation": 51}, True, True),
        ({"kv": 0.51}, True, False),
        ({"kv": 0.49}, True, False),
        ({"running": 3}, True, False),
        ({"running": 1}, True, False),
        ({"waiting": 2}, True, False),
        ({"waiting": 4}, False, False),
    ],
)
def test_movement(changes: dict[str, float], is_movement: bool, of_tokens: bool) -> None:
    """Any change moves, but for a rise of waiting; one's own arrival leaves only tokens as proof."""
    after = replace(BASE, **changes)
    assert moved(BASE, after) is is_movement
    assert moved(BASE, after, tokens_only=True) is of_tokens


LABELLED = b"""# TYPE a_seconds histogram
a_seconds_bucket{engine="0",le="0.5"} 1
a_seconds_bucket{engine="0",le="+Inf"} 3.0
a_seconds_bucket{le="0.5",engine="1"} 2
a_seconds_bucket{engine="1",le="+Inf"} 2
a_seconds_bucket{engine="1",bottle="9"} 7
a_seconds_count 5
b_total 1e3
b_total{x="}"} 2
b_total{x="NaN"} NaN
b_total_created 9
"""


def test_reads_one_family_of_a_page() -> None:
    """Sums over engines; only the exact name counts, and what is no number is left out."""
    assert total(LABELLED, b"b_total") == 1002
    assert total(LABELLED[LABELLED.index(b"b_total") :], b"b_total") == 1002
    assert total(LABELLED, b"b") is None
    assert buckets(LABELLED, b"a_seconds") == {0.5: 3, float("inf"): 5}
    assert buckets(LABELLED, b"b_total") == {}
    assert list(samples(LABELLED, b"a_seconds_count")) == [(b"", 5.0)]
    assert list(samples(b"", b"a")) == []


@settings(deadline=None)
@given(st.lists(st.sampled_from(LABELLED.splitlines()), max_size=30), st.binary(max_size=20))
def test_reads_whatever_comes(lines: list[bytes], rest: bytes) -> None:
    """No text breaks the reading, and a family's sum is that of its lines."""
    text = b"\n".join([*lines, rest])
    expected = sum(1000 for one in lines if one == b"b_total 1e3") + 2 * lines.count(b'b_total{x="}"} 2')
    assert (total(text, b"b_total") or 0) == expected
    buckets(text, b"a_seconds")
