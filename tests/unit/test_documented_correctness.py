"""docs/probes.md, docs/incidents.md and docs/correctness.md say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from genesisd.incidents.model import CAUSES
from genesisd.judge.model import Step
from genesisd.probes.schedule import FREE
from genesisd.probes.spec import CORRECTNESS

DOCS = Path(__file__).parents[2] / "docs"
SECONDS = {"s": 1, "min": 60, "h": 3600, "d": 86400}
ROW = re.compile(r"^\| `([a-z-]+)` \| (\d+) (s|min|h|d) \| (\d+|none) \| (\d+) \| (\w+) \|", re.MULTILINE)


def text(name: str) -> str:
    return (DOCS / name).read_text()


def test_every_kind_is_in_the_table_with_its_defaults() -> None:
    """Period, tokens, threshold and action; kinds for which the engine computes nothing cost none."""
    told = {
        kind: (float(number) * SECONDS[unit], tokens, int(failures), action)
        for kind, number, unit, tokens, failures, action in ROW.findall(text("probes.md"))
    }
    assert told == {
        one.kind: (one.period, "none" if one.kind in FREE else str(one.max_tokens), one.failures, str(one.action))
        for one in CORRECTNESS
    }


@pytest.mark.parametrize("kind", [one.kind for one in CORRECTNESS])
def test_every_kind_has_a_section_that_names_its_own_fields(kind) -> None:
    """Whoever configures one looks there."""
    section = text("probes.md").split(f"\n### `{kind}`\n")[1].split("\n### ")[0]
    spec = next(type(one) for one in CORRECTNESS if one.kind == kind)
    common = {"period", "timeout", "failures", "successes", "jitter", "recheck", "patience", "max_tokens", "action"}
    for field in set(spec.model_fields) - common - {"kind"}:
        assert f"`{field}`" in section, field


def test_the_cost_of_an_idle_worker_is_what_the_defaults_add_up_to() -> None:
    """The figure in the text follows from the table."""
    paying = [one for one in CORRECTNESS if one.kind not in FREE]
    total = sum(one.max_tokens * 3600 / (one.period * (1 - one.jitter)) for one in paying)
    assert f"at most {total:,.0f} tokens an hour" in " ".join(text("probes.md").split())


def test_every_cause_is_explained_once() -> None:
    """And none that does not exist."""
    rows = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| [^|]+ \|$", text("incidents.md"), re.MULTILINE)
    assert sorted(rows) == sorted(CAUSES)


def test_every_step_of_the_judge_is_explained_in_its_order() -> None:
    """From below."""
    section = text("correctness.md").split("\n## The judge\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([a-z]+) \|[^|]+\|[^|]*\|$", section, re.MULTILINE)
    assert rows == [str(step) for step in Step]
