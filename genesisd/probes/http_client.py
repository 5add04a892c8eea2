"""The one shared HTTP session, and what its errors mean."""

from __future__ import annotations

import errno
from collections.abc import Mapping

import aiohttp

from genesisd.probes.model import Outcome, failure, unknown

_OURS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS, errno.EADDRNOTAVAIL})
"""Errors of this side: the engine was never asked."""


def open_session() -> aiohttp.ClientSession:
    """A session for all probes of all workers. The caller closes it.

    Each ask has its own connection: a kept one may belong to a process that is dead, and 100 workers would hold
    hundreds of idle descriptors. Deadlines are the probes' own.
    """
    connector = aiohttp.TCPConnector(limit=0, limit_per_host=16, force_close=True)
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
    return aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())


async def get(
    session: aiohttp.ClientSession, url: str, headers: Mapping[str, str], limit: int = 1 << 20
) -> tuple[int, bytes]:
    """Status and body, cut at ``limit`` bytes. Raises aiohttp.ClientError and OSError."""
    async with session.get(url, headers=headers, allow_redirects=False) as answer:
        return answer.status, await read(answer, limit)


async def read(answer: aiohttp.ClientResponse, limit: int) -> bytes:
    """The body, cut at ``limit`` bytes: an endless answer must not fill the daemon."""
    chunks, size = [], 0
    async for chunk in answer.content.iter_any():
        chunks.append(chunk)
        size += len(chunk)
        if size >= limit:
            break
    return b"".join(chunks)[:limit]


def blame(error: aiohttp.ClientError | OSError, url: str) -> Outcome:
    """Failure where the engine did not answer, unknown where this side could not ask."""
    number = getattr(error, "errno", None)
    if number in _OURS:
        return unknown(f"could not ask {url}: {error}", error=repr(error))
    return failure(f"{url} gave no answer: {str(error) or type(error).__name__}", error=repr(error))


def refusal(status: int, body: bytes, url: str) -> Outcome:
    """What an answer other than 200 to a generation means."""
    excerpt = body[:500].decode(errors="replace")
    if status in (401, 403):
        return unknown(f"{url} refused the probe with {status}: give genesisd the API key", status=status, body=excerpt)
    if status == 429:
        return unknown(f"{url} is too busy for a probe (429)", status=status, body=excerpt)
    return failure(f"{url} answered {status}, expected 200: {excerpt[:120]}", status=status, body=excerpt)
