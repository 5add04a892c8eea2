"""/metrics for the kinds that look at numbers alone."""

from __future__ import annotations

import aiohttp

from genesisd.probes.http_client import get
from genesisd.probes.model import Outcome, unknown
from genesisd.probes.ports import Target

LIMIT = 4 << 20
"""Bytes of a page."""


async def page(session: aiohttp.ClientSession, target: Target) -> bytes | Outcome:
    """The page, or why there is none: never a failure, since what does not answer is other probes' matter."""
    url = f"{target.base_url}/metrics"
    try:
        status, body = await get(session, url, target.headers, LIMIT)
    except (aiohttp.ClientError, OSError) as error:
        return unknown(f"could not ask {url}: {str(error) or type(error).__name__}", error=repr(error))
    if status != 200:
        return unknown(f"{url} answered {status}, expected 200", status=status)
    if len(body) >= LIMIT:
        return unknown(f"{url} is longer than {LIMIT >> 20} MiB: a part of it has wrong sums")
    return body


def late(seconds: float) -> Outcome:
    """What a missed deadline means to them."""
    return unknown(f"/metrics did not come within {seconds:g} s")
