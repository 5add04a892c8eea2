"""Whether a patch that is there is used."""

from __future__ import annotations

from typing import Any

import pytest

from genesisd.attest.engagement import Use, engagements
from genesisd.attest.report import Report
from genesisd.attest.roles import Role


def report(pid: int, **counts: Any) -> Report:
    return Report(pid, 1, Role.ENGINE, "", "b", "", {}, **counts)


@pytest.mark.parametrize(
    ("counts", "requests", "proven", "use", "text"),
    [
        ([{"hits": {"P": 2}}, {"hits": {"P": 3}}], 9, True, Use.ENGAGED, "engaged 5 times"),
        ([{"hits": {"P": 1}, "skips": {"P": {"short": 2}}}], 9, True, Use.ENGAGED, "engaged 1 times"),
        ([{"skips": {"P": {"short": 2}}}, {"skips": {"P": {"short": 1, "long": 4}}}], 9, True, Use.SKIPPED,
         "stood aside: long (4), short (3)"),
        ([{"hits": {"P": 0}}], 9, True, Use.NEVER, "never engaged in 9 requests"),
        ([{"hits": {"Q": 5}, "skips": {"P": {"short": 0}}}], 9, True, Use.NEVER, "never engaged in 9 requests"),
        ([], 0, True, Use.UNASKED, "no request yet"),
        ([{"hits": {"P": 0}}], 9, False, Use.NO_PROOF, "declares no proof of life"),
        ([{"hits": {"P": 1}}], 0, False, Use.ENGAGED, "engaged 1 times"),
    ],
)  # fmt: skip
def test_use(counts: list[dict[str, Any]], requests: int, proven: bool, use: Use, text: str):
    """Counts are summed over processes; a hit outweighs what was skipped."""
    reports = [report(pid, **one) for pid, one in enumerate(counts)]
    (found,) = engagements(["P"], {"P"} if proven else set(), reports, requests)
    assert (found.use, found.summary) == (use, text)


def test_each_patch_has_its_line():
    """Sorted, as people look for them."""
    assert [one.patch for one in engagements(["P2", "P1"], (), (), 0)] == ["P1", "P2"]
