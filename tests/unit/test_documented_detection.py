"""docs/detection.md has a row for everything that the fake worker can do wrong, and names every kind of probe."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.detection_faults import PLANTED, Row, Sample
from benchmarks.detection_page import met, text
from genesisd.probes.spec import CORRECTNESS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "detection.md").read_text()
ODD_BUT_RIGHT = {"near-tie", "near-tie-golden"}
SETTINGS = {"answer", "answer_only", "needle_limit"}
"""Of faults, not faults of their own."""
OTHER_MATTERS = {
    "generate", "refuse", "first_request_kills", "prefill_seconds", "health", "health_delay", "metrics", "metrics_delay",
    "load", "models", "freeze_counters", "running", "waiting", "kv",
}  # fmt: skip
"""How a worker dies, hangs, is full or tells odd numbers: liveness, readiness and the soak look at these."""


def rows() -> set[str]:
    return set(re.findall(r"^\| `([\w-]+)` \((?:fake|real)\) \|", PAGE, re.MULTILINE))


def wrong_answers() -> set[str]:
    head = (ROOT / "tests/helpers/fakevllm/faults.py").read_text().split('"""')[1]
    return set(re.findall(r"``([\w-]+)``", head)) - ODD_BUT_RIGHT - SETTINGS


def numbers() -> set[str]:
    table = (ROOT / "tests/helpers/fakevllm/control.py").read_text().split("DEFAULTS")[1].split("\n}")[0]
    return set(re.findall(r'^    "(\w+)":', table, re.MULTILINE)) - SETTINGS - OTHER_MATTERS


def test_every_wrong_answer_of_the_fake_is_measured() -> None:
    """And whatever else it can have wrong in its numbers."""
    assert {fault.name for fault in PLANTED} - {"hang"} == wrong_answers() | numbers()


def test_every_fault_has_a_row() -> None:
    """Dead and hung among them, and all as the command writes them."""
    assert rows() == {fault.name for fault in PLANTED} | {"killed", "engine-killed", "engine-stopped"}


@pytest.mark.parametrize("kind", [one.kind for one in CORRECTNESS])
def test_every_kind_is_named(kind: str) -> None:
    """Either it found something, or the page says why it is not there."""
    assert f"`{kind}`" in PAGE


def test_a_row_is_met_only_where_every_run_was() -> None:
    """In periods of whoever found it; a run in which nobody found it is a miss."""
    row = Row("garbage", "", "fake", {"golden": 2.0, "tool-calls": 20.0}, 1.0)
    assert met(row) is False
    row.samples = [Sample("golden", 1.0), Sample("tool-calls", 19.0)]
    assert met(row) is True
    assert "0.72 / 0.95 periods" in text([row])
    row.samples = [*row.samples, Sample("golden", 2.1)]
    assert met(row) is False
    row.samples = [Sample("golden", 1.0), Sample(None, 80.0)]
    assert met(row) is False
    assert "nobody in 1" in text([row])
