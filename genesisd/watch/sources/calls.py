"""One request to upstream and what came of it: an answer to read, or why there is none. Nothing raises."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urljoin, urlsplit

import aiohttp

import genesisd
from genesisd.clock import Clock
from genesisd.watch.cost import Asked, Budget
from genesisd.watch.model import WhyUnknown
from genesisd.watch.sources import limits
from genesisd.watch.sources.gate import Gate
from genesisd.watch.sources.replies import Failure, Reply, failure, limited, said_in
from genesisd.watch.sources.token import Token
from genesisd.watch.spec import WatchSpec

JSON = "application/vnd.github+json"
DIFF = "application/vnd.github.diff"
DEADLINE = 30.0
"""Seconds for one request; upstream gives up on a query after ten of its own."""
PATIENCE = 7500.0
"""Seconds that one sweep may spend on waiting for limits to end; without a token it takes the hour's reset twice."""
MOST_BYTES = 8 << 20
HOPS = 3
DOWN_AFTER = 6
"""Requests in a row without an answer: one more than it takes to halve a batch of 25 down to one."""
DOWN_FOR = 300.0
PAUSE = 1.0
"""Seconds of rest after a request that got no answer."""


class Calls:
    """Asks, counts, waits and follows moves, within the requests that a sweep may make.

    Args:
        session: whose connections are used.
        spec: address and budget.
        clock: for waits.
        gate: shared by all.
        token: sent where there is one.
        deadline: seconds for one request.
        patience: seconds that may be spent on limits in all.
    """

    def __init__(
        self,
        session: aiohttp.ClientSession,
        spec: WatchSpec,
        clock: Clock,
        gate: Gate,
        token: Token,
        *,
        deadline: float = DEADLINE,
        patience: float = PATIENCE,
    ) -> None:
        self._session = session
        self._base = spec.api.rstrip("/")
        # Under a company's own address the two interfaces are siblings.
        self._graphql = self._base.removesuffix("/v3") + "/graphql"
        self._most = spec.requests
        self._clock = clock
        self._gate = gate
        self._token = token
        self._timeout = aiohttp.ClientTimeout(total=deadline)
        self._patience = patience
        self._counts: Counter[str] = Counter()
        self._unchanged = 0
        self._unanswered = self._before = 0
        self._down_until = clock.monotonic()
        self._refused: tuple[str | None] | None = None
        self._budgets: dict[str, Budget] = {}

    @property
    def left(self) -> int:
        """Requests that may still be made."""
        return max(0, self._most - self._counts.total())

    @property
    def budget(self) -> Budget:
        """What is left of the scarcest sort: each interface has an hour's requests of its own."""
        now = self._clock.wall()
        told = [one for one in self._budgets.values() if one.resets_at is None or one.resets_at > now]
        return min(told, key=lambda one: one.remaining or 0, default=Budget())

    def asked(self) -> Asked:
        """So far."""
        return Asked(requests=dict(self._counts), unchanged=self._unchanged, budget=self.budget)

    @property
    def refused(self) -> str:
        """Why nothing more is asked until there is another token, or ""."""
        token = self._token.value()
        if self._refused != (token,):
            return ""
        return "upstream wants a token" if token is None else "the token was refused: renew it"

    def has_token(self) -> bool:
        """Whether one would be sent now."""
        return self._token.value() is not None

    async def get(self, kind: str, path: str, *, accept: str = JSON, etag: str | None = None) -> Reply | Failure:
        """GET, told apart in the counts by ``kind``; asked once more where nothing came back."""
        headers = {"If-None-Match": etag} if etag else {}
        found = await self._ask(kind, "GET", self._base + path, {"Accept": accept, **headers}, None)
        if isinstance(found, Failure) and found.why is WhyUnknown.OUTAGE and (found.status == 0 or found.status >= 500):
            found = await self._ask(kind, "GET", self._base + path, {"Accept": accept, **headers}, None)
        return found

    async def query(self, kind: str, text: str) -> Reply | Failure:
        """A GraphQL query. Whoever asks retries, with less."""
        return await self._ask(kind, "POST", self._graphql, {"Accept": JSON}, json.dumps({"query": text}).encode())

    def broke(self, text: str, status: int) -> Failure:
        """The answer to the last request could not be read after all: it counts as none."""
        self._unanswered = self._before
        return self._nothing(Failure(WhyUnknown.OUTAGE, text, status, heavy=True))

    async def _ask(
        self, kind: str, method: str, address: str, headers: dict[str, str], data: bytes | None
    ) -> Reply | Failure:
        hops = bare = 0
        while True:
            found = await self._once(kind, method, address, headers, data)
            if isinstance(found, _Refused):
                bare += not found.refusal.named
                if bare >= 2:
                    return Failure(WhyUnknown.BARRED, f"{found.refusal.text}, twice: {found.said}", found.status)
                continue
            if isinstance(found, _Moved):
                hops += 1
                address = urljoin(address, found.to)
                if hops > HOPS or not self._ours(address):
                    return Failure(WhyUnknown.NOT_FOUND, f"moved to {address}, which was not followed", found.status)
                continue
            return found

    def _ours(self, address: str) -> bool:
        """A token and our questions go to no other host, whatever an answer says."""
        own, other = urlsplit(self._base), urlsplit(address)
        return (own.scheme, own.netloc) == (other.scheme, other.netloc)

    async def _once(
        self, kind: str, method: str, address: str, headers: dict[str, str], data: bytes | None
    ) -> Reply | Failure | _Moved | _Refused:
        began = self._clock.monotonic()
        if began < self._down_until:
            return Failure(WhyUnknown.OUTAGE, f"not asked: {DOWN_AFTER} requests in a row got no answer")
        if self.left == 0:
            return Failure(WhyUnknown.NOT_ASKED, f"the {self._most} requests of this sweep are spent")
        token = self._token.value()
        if text := self.refused:
            return Failure(WhyUnknown.BARRED, text, 401)  # going on would shut out this address
        async with self._gate.turn(self._patience) as until:
            if until is not None:
                return Failure(WhyUnknown.LIMITED, f"upstream wants to be left alone until {_moment(until)}")
            self._patience = max(0.0, self._patience - (self._clock.monotonic() - began))
            self._counts[kind] += 1
            found = await self._send(method, address, headers, data, token)
            if isinstance(found, Failure):
                return self._nothing(found)
            if found.status == 401:
                self._refused = (token,)
                return Failure(WhyUnknown.BARRED, self.refused, 401)
            return self._read(found, asked_for_changes="If-None-Match" in headers)

    async def _send(
        self, method: str, address: str, headers: dict[str, str], data: bytes | None, token: str | None
    ) -> Reply | Failure:
        """The exchange itself. Errors are told by their kind, never with the request: that holds the token."""
        own = {"User-Agent": f"genesisd/{genesisd.__version__}", "X-GitHub-Api-Version": "2022-11-28"}
        if token is not None:
            own["Authorization"] = f"Bearer {token}"
        try:
            async with self._session.request(
                method, address, headers=own | headers, data=data, timeout=self._timeout, allow_redirects=False
            ) as answer:
                body = await _body(answer)
                names = {name.lower(): value for name, value in answer.headers.items()}
                if body is None:
                    return Failure(WhyUnknown.OUTAGE, f"an answer of more than {MOST_BYTES >> 20} MiB", 200, heavy=True)
                return Reply(answer.status, names, body)
        except TimeoutError:
            return Failure(WhyUnknown.OUTAGE, f"no answer within {self._timeout.total:g} s", heavy=True)
        except aiohttp.ClientPayloadError:
            return Failure(WhyUnknown.OUTAGE, "the answer broke off", heavy=True)
        except aiohttp.ClientConnectorError as error:
            return Failure(WhyUnknown.OUTAGE, f"no connection: {error}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Failure(WhyUnknown.OUTAGE, f"no connection: {type(error).__name__}")

    def _nothing(self, failure: Failure) -> Failure:
        self._unanswered += 1
        self._gate.shut(PAUSE)
        if self._unanswered >= DOWN_AFTER:
            self._down_until = self._clock.monotonic() + DOWN_FOR
            self._unanswered = 0
        return failure

    def _read(self, reply: Reply, *, asked_for_changes: bool) -> Reply | Failure | _Moved | _Refused:
        if (budget := limits.budget(reply.headers)) is not None:
            self._budgets[reply.headers.get("x-ratelimit-resource", "")] = budget
        said = said_in(reply.body) if reply.status >= 400 else ""
        status = 429 if reply.status == 200 and limited(reply) else reply.status
        if (refusal := self._gate.told(status, reply.headers, said)) is not None:
            return _Refused(refusal, said, status)
        if reply.status >= 500:
            heavy = reply.status in {500, 502, 504}
            return self._nothing(Failure(WhyUnknown.OUTAGE, f"answered {reply.status}", reply.status, heavy=heavy))
        if reply.status == 304 and not asked_for_changes:  # it says that nothing changed since we know not what
            return self._nothing(Failure(WhyUnknown.OUTAGE, "answered 304 to what was asked without a tag", 304))
        self._before, self._unanswered = self._unanswered, 0
        if reply.status in {301, 302, 307, 308} and (to := reply.headers.get("location")):
            return _Moved(to, reply.status)
        if reply.status == 304:
            self._unchanged += 1
        return reply if reply.status in {200, 304} else failure(reply.status, said)


@dataclass(frozen=True, slots=True)
class _Moved:
    to: str
    status: int


@dataclass(frozen=True, slots=True)
class _Refused:
    refusal: limits.Refusal
    said: str
    status: int


async def _body(answer: aiohttp.ClientResponse) -> bytes | None:
    found = bytearray()
    async for chunk in answer.content.iter_chunked(1 << 16):
        found += chunk
        if len(found) > MOST_BYTES:
            return None
    return bytes(found)


def _moment(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
