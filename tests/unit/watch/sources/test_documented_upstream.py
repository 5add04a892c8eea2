"""The page about GitHub tells the numbers that hold."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from genesisd.watch.model import WhyUnknown
from genesisd.watch.sources import batches, calls, diffs, limits, recent

PAGE = " ".join((Path(__file__).parents[4] / "docs" / "upstream.md").read_text().split())


@pytest.mark.parametrize(
    "words",
    [
        f"one query for {batches.START} of them: 113 rows are {math.ceil(113 / batches.START)} requests",
        f"a page of {recent.START} each, with files",
        f"a page of {recent.LISTED} each",
        f"for {limits.BARE:.0f} s after a refusal that names no time",
        f"After {limits.MOST_REFUSALS} refusals in a row",
        f"waits for {calls.PATIENCE:.0f} s in all",
        f"takes more than {calls.DEADLINE:.0f} s",
        f"After {calls.DOWN_AFTER} requests in a row without any answer nothing is asked for {calls.DOWN_FOR:.0f} s",
        f"up to {diffs.MOST_PAGES * 100};",
        "doubled after a day",
    ],
)
def test_the_numbers_hold(words):
    """Each number of the page is the one in the code."""
    assert words in PAGE
    assert batches.REGROW == 86400


def test_the_reasons_are_known():
    """What the page calls an unknown is one."""
    named = set(re.findall(r"`([a-z-]+)`", PAGE)) - {"requests"}
    assert named <= {str(why) for why in WhyUnknown}
    assert {"limited", "barred", "partial", "not-found", "contradicted"} <= named
