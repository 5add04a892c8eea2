"""Whether patches that carry load were reached by users' requests. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from genesisd.attest.engagement import Engagement, Use
from genesisd.probes.model import Outcome, failure, skipped, success, unknown

ENGAGED_AFTER = 100
"""Requests in which a patch that tells of its use should have been reached once."""


def engaged(bearing: Sequence[Engagement]) -> Outcome:
    """What the use of the patches that carry load says of a life."""
    telling = [one for one in bearing if one.use is not Use.NO_PROOF]
    if not telling:
        return skipped("no patch that carries load tells of its use")
    hits = {one.patch: one.hits for one in telling}
    idle = [one for one in telling if one.use in {Use.NEVER, Use.UNASKED}]
    if not idle:
        return success(f"reached: {', '.join(sorted(hits))}", hits=hits)
    names, requests = ", ".join(one.patch for one in idle), min(one.requests for one in idle)
    if requests < ENGAGED_AFTER:
        return unknown(f"{names} not reached in {requests} requests; told after {ENGAGED_AFTER}", hits=hits)
    return failure(f"{names} not reached in {requests} requests", hits=hits, requests=requests)
