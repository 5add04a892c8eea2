from dataclasses import replace

import pytest

from genesisd.probes.metrics import Values, moved, parse
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
