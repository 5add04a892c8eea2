"""The double as a server: counts, limits, tags, and the faults that were asked for."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any

from aiohttp import web
from graphql import print_ast

from . import graph, rest
from .facts import World
from .faults import Faults, Refuse, Slow, Status, Truncated

TOKEN = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True)
class Request:
    """One that was made, with the status it got."""

    method: str
    path: str
    at: float
    status: int
    aliases: int = 0
    etag: str | None = None
    with_token: bool = False


@dataclass
class Rate:
    """An hour's requests of one sort."""

    limit: int
    used: int = 0
    resets: float = 0.0

    def spend(self, now: float) -> bool:
        """One of them, if there is one."""
        if now >= self.resets:
            self.used, self.resets = 0, now + 3600
        if self.used >= self.limit:
            return False
        self.used += 1
        return True

    def refund(self) -> None:
        self.used -= 1


@dataclass
class FakeGitHub:
    """Facts, faults, and what was asked.

    Attributes:
        world: changed by the test as upstream changes.
        token: the one that is accepted.
        anonymous, known, queries: an hour's requests without a token, with one, and of GraphQL.
        now: its clock.
    """

    world: World
    faults: Faults = field(default_factory=Faults)
    token: str = TOKEN
    anonymous: int = 60
    known: int = 5000
    queries: int = 5000
    now: Callable[[], float] = time.time
    url: str = ""
    requests: list[Request] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    """Of queries and their answers, in pairs."""
    extra: dict[str, str] = field(default_factory=dict)
    """Headers of every answer."""
    most_at_once: int = 0
    _was_cut_off: bool = False
    _now_at_once: int = 0
    errors: list[Exception] = field(default_factory=list)
    """Of the double itself: a test that caused one must fail."""
    _rates: dict[str, Rate] = field(default_factory=dict)
    _first: dict[str, tuple[int, dict[str, str], bytes]] = field(default_factory=dict)

    def count(self, method: str | None = None) -> int:
        return sum(method in {None, one.method} for one in self.requests)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        self._now_at_once += 1
        self.most_at_once = max(self.most_at_once, self._now_at_once)
        try:
            return await self._handle(request)
        except ConnectionError:  # the client went, or was cut off on purpose
            raise
        except Exception as error:
            self.errors.append(error)
            raise
        finally:
            self._now_at_once -= 1

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        fault = self.faults.next.pop(0) if self.faults.next else None
        document = graph.parsed((await request.json())["query"]) if request.method == "POST" else None
        aliases = graph.aliases(document) if document else 0
        self._cut_off()
        if self.faults.down and request.transport:
            request.transport.abort()
        status, headers, body = self._answer(request, document, aliases, fault)
        key = "POST" if request.method == "POST" else request.path_qs
        if self.faults.replay and key in self._first and status == 200:
            status, headers, body = self._first[key]
        elif status == 200:
            self._first.setdefault(key, (status, headers, body))
        if document is not None:
            self.bodies.append(((await request.json())["query"], body))
        headers = {"Content-Type": rest.JSON} | headers | self.extra | {"Date": formatdate(self.now(), usegmt=True)}
        self.requests.append(
            Request(
                request.method,
                request.path_qs,
                self.now(),
                0 if self.faults.down else status,
                aliases,
                request.headers.get("If-None-Match"),
                "Authorization" in request.headers,
            )
        )
        return await _sent(request, status, headers, body, fault)

    def _cut_off(self) -> None:
        if self.faults.after is not None:
            self.faults.down = self.faults.after <= 0
            self.faults.after -= 1
        elif self._was_cut_off:
            self.faults.down = False
        self._was_cut_off = self.faults.after is not None

    def _answer(
        self, request: web.Request, document: Any, aliases: int, fault: Any
    ) -> tuple[int, dict[str, str], bytes]:
        if isinstance(fault, Status):
            return fault.status, {}, fault.text.encode()
        if isinstance(fault, Refuse):
            return self._refusal(fault)
        if self.faults.page:
            return 200, {"Content-Type": "text/html"}, self.faults.page.encode()
        if not request.headers.get("User-Agent", "").startswith("genesisd/"):
            return 403, {}, b"Request forbidden by administrative rules."
        if self.faults.moved:
            return 301, {"Location": self.faults.moved}, b""
        said = request.headers.get("Authorization")
        if said is not None and said != f"Bearer {self.token}":
            return 401, {}, _json({"message": "Bad credentials", "status": "401"})
        if request.path in {"/graphql", "/api/graphql"}:
            return self._queried(document, aliases, said)
        return self._listed(request, said)

    def _queried(self, document: Any, aliases: int, said: str | None) -> tuple[int, dict[str, str], bytes]:
        if said is None:
            return 401, {}, _json({"message": "This endpoint requires you to be authenticated."})
        rate = self._rate("graphql", self.queries)
        good = rate.spend(self.now())
        headers = self._limits("graphql", rate)
        if not good:
            error = {"type": "RATE_LIMITED", "message": "API rate limit exceeded for user ID 1."}
            return 200, headers, _json({"errors": [error]})
        if document is None:
            return 200, headers, _json({"errors": [{"message": "Parse error"}]})
        poisoned = self.faults.poison is not None and f"number: {self.faults.poison.number})" in self._text(document)
        if poisoned or (self.faults.heavy_above is not None and aliases > self.faults.heavy_above):
            return 502, {}, b"<html>Bad Gateway</html>"
        if self.faults.exhausted_above is not None and aliases > self.faults.exhausted_above:
            error = {"type": "RESOURCE_LIMITS_EXCEEDED", "message": "Resource limits for this query exceeded."}
            return 200, headers, _json({"data": None, "errors": [error]})
        told = {
            "cost": 1,
            "limit": rate.limit,
            "remaining": rate.limit - rate.used,
            "resetAt": graph.moment(rate.resets),
        }
        world = self.faults.stale or self.world
        try:
            return 200, headers, _json(graph.answer(document, world, self.faults, told))
        except graph.TooHeavyError:
            return 502, {}, b"<html>Bad Gateway</html>"

    @staticmethod
    def _text(document: Any) -> str:
        return print_ast(document)

    def _listed(self, request: web.Request, said: str | None) -> tuple[int, dict[str, str], bytes]:
        rate = self._rate("core" if said else "anonymous", self.known if said else self.anonymous)
        good = rate.spend(self.now())
        if not good:
            return 403, self._limits("core", rate), _json({"message": "API rate limit exceeded for 127.0.0.1."})
        diff = request.headers.get("Accept") == "application/vnd.github.diff"
        world = self.faults.stale or self.world
        told = rest.answer(
            world, self.url, request.path.removeprefix("/api/v3"), dict(request.query), diff=diff, compare=self.faults.compare
        )  # fmt: skip
        text = isinstance(told.body, str)
        body = told.body.encode() if text else _json(told.body)
        headers = {
            "Content-Type": rest.TEXT if text else rest.JSON,
            "Cache-Control": "private, max-age=60, s-maxage=60",
        }
        if told.location:
            headers["Location"] = told.location
        if told.more:
            page = int(request.query.get("page", 1)) + 1
            headers["Link"] = f'<{self.url}{request.path}?page={page}>; rel="next"'
        if told.status == 200:
            headers["ETag"] = f'W/"{hashlib.sha256(body).hexdigest()}"'
            if request.headers.get("If-None-Match") == headers["ETag"]:
                if said:
                    rate.refund()
                return 304, headers | self._limits("core", rate), b""
        return told.status, headers | self._limits("core", rate), body

    def _refusal(self, fault: Refuse) -> tuple[int, dict[str, str], bytes]:
        headers = {"x-ratelimit-remaining": "4000", "x-ratelimit-limit": "5000"}
        if fault.retry_after is not None:
            headers["Retry-After"] = fault.retry_after
        if fault.resets_in is not None:
            headers |= {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int(self.now() + fault.resets_in))}
        return fault.status, headers, _json({"message": fault.text})

    def spend(self, sort: str, resets_in: float) -> None:
        """As if others of the same token had used up the hour."""
        limit = {"graphql": self.queries, "core": self.known, "anonymous": self.anonymous}[sort]
        self._rates[sort] = Rate(limit, used=limit, resets=self.now() + resets_in)

    def _rate(self, sort: str, limit: int) -> Rate:
        return self._rates.setdefault(sort, Rate(limit))

    def _limits(self, sort: str, rate: Rate) -> dict[str, str]:
        return {
            "x-ratelimit-limit": str(rate.limit),
            "x-ratelimit-remaining": str(rate.limit - rate.used),
            "x-ratelimit-used": str(rate.used),
            "x-ratelimit-reset": str(int(rate.resets)),
            "x-ratelimit-resource": sort,
        }


@asynccontextmanager
async def fake_github(world: World, **settings: Any) -> AsyncIterator[FakeGitHub]:
    """A double that answers at its ``url``."""
    double = FakeGitHub(world, **settings)
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", double.handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1, handler_cancellation=True)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    double.url = f"http://127.0.0.1:{port}"
    try:
        yield double
    finally:
        await runner.cleanup()
    if double.errors:
        raise double.errors[0]


async def _sent(
    request: web.Request, status: int, headers: dict[str, str], body: bytes, fault: Any
) -> web.StreamResponse:
    if not isinstance(fault, Slow | Truncated):
        return web.Response(status=status, headers=headers, body=body)
    half = len(body) // 2
    length = half if isinstance(fault, Truncated) and fault.quietly else len(body)
    answer = web.StreamResponse(status=status, headers=headers | {"Content-Length": str(length)})
    await answer.prepare(request)
    await answer.write(body[:half])
    if isinstance(fault, Slow):
        await asyncio.sleep(fault.seconds)
        await answer.write(body[half:])
    elif not fault.quietly and request.transport:
        request.transport.close()
    return answer


def _json(told: Any) -> bytes:
    return json.dumps(told).encode()
