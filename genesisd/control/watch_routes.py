"""The control API's addresses for the upstream watch.

A sweep is an order: it is begun, and goes on whatever becomes of the client. Its progress is a stream of its own, which
may be left and taken up again. A dossier is made for whoever asks, and ends when that client goes.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Protocol, TypeVar

from aiohttp import web

from genesisd.control import requests, watch_messages, watch_wire
from genesisd.control.answer import json_answer
from genesisd.control.watch_ports import WatchApi
from genesisd.control.watch_views import SweepView
from genesisd.errors import UnavailableError
from genesisd.watch.decisions import Standing
from genesisd.watch.refs import Ref, parse_ref

Result = TypeVar("Result")
Stream = Callable[[web.Request, AsyncIterator[str]], Awaitable[web.StreamResponse]]

_FORMS = ("markdown", "html")
_MOST = 1e15


class Act(Protocol):
    """Carries an order to its end, whatever becomes of the client."""

    def __call__(self, order: Coroutine[Any, Any, Result], /) -> Awaitable[Result]:
        """What the order comes to."""
        ...


class WatchRoutes:
    """Translates; decides nothing.

    Args:
        api: the watch, or None where the daemon has none.
        act: carries an order to its end.
        stream: answers with lines until they end.
        deadline: seconds that a question from the store may take.
    """

    def __init__(self, api: WatchApi | None, act: Act, stream: Stream, deadline: float) -> None:
        self._given = api
        self._act = act
        self._stream = stream
        self._deadline = deadline

    @property
    def _api(self) -> WatchApi:
        if self._given is None:
            raise UnavailableError("this daemon does not watch upstream")
        return self._given

    def register(self, app: web.Application) -> None:
        """Add the addresses."""
        app.router.add_get("/v1/watch", self._status)
        app.router.add_get("/v1/watch/rows", self._rows)
        app.router.add_get("/v1/watch/pull", self._show)
        app.router.add_get("/v1/watch/why", self._why)
        app.router.add_get("/v1/watch/report", self._report)
        app.router.add_get("/v1/watch/decisions", self._decisions)
        app.router.add_post(r"/v1/watch/decisions/{id:\d{1,15}}/{verb:accept|decline|snooze}", self._answer)
        app.router.add_post("/v1/watch/dossiers", self._dossiers)
        app.router.add_post("/v1/watch/forget", self._forget)
        app.router.add_post("/v1/watch/sweep", self._sweep)
        app.router.add_get("/v1/watch/progress", self._progress)

    # --- asking -----------------------------------------------------------------------------------------------

    async def _status(self, _request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.status(await self._api.status()))

    async def _rows(self, _request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.rows(await self._api.rows()))

    async def _show(self, request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.watched(await self._api.show(_ref(request.query.get("ref", "")))))

    async def _why(self, request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.why(await self._api.why(_ref(request.query.get("ref", "")))))

    async def _report(self, request: web.Request) -> web.Response:
        form = request.query.get("form", _FORMS[0])
        if form not in _FORMS:
            raise requests.UsageError(f"form must be one of {', '.join(_FORMS)}, not {form[:20]!r}")
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.report(await self._api.report(_sweep_of(request), form)))

    async def _decisions(self, request: web.Request) -> web.Response:
        open_only = requests.flag(request, "open")
        async with asyncio.timeout(self._deadline):
            return json_answer(watch_wire.decisions(await self._api.decisions(open_only=open_only)))

    async def _dossiers(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, watch_messages.DossiersRequest, self._deadline)
        async with asyncio.timeout(body.timeout):
            found = await self._api.dossiers(_ref(body.ref), body.patch, body.pin, anew=body.anew)
        return json_answer(watch_wire.dossiers(found))

    # --- ordering ---------------------------------------------------------------------------------------------

    async def _answer(self, request: web.Request) -> web.Response:
        id_, peer = int(request.match_info["id"]), request[requests.PEER]
        match request.match_info["verb"]:
            case "accept":
                accept = await requests.read_body(request, watch_messages.AcceptRequest, self._deadline)
                order = self._api.answer(id_, Standing.ACCEPTED, peer, why=accept.why)
            case "decline":
                no = await requests.read_body(request, watch_messages.DeclineRequest, self._deadline)
                order = self._api.answer(id_, Standing.DECLINED, peer, why=no.why, revisit_when=no.revisit_when)
            case _:
                snooze = await requests.read_body(request, watch_messages.SnoozeRequest, self._deadline)
                order = self._api.answer(id_, Standing.SNOOZED, peer, why=snooze.why, until=snooze.until)
        return json_answer(watch_wire.decision(await self._act(order)))

    async def _forget(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, watch_messages.ForgetRequest, self._deadline)
        order = self._api.forget(_ref(body.ref), request[requests.PEER])
        return json_answer(watch_wire.forgotten(await self._act(order)))

    async def _sweep(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, watch_messages.SweepRequest, self._deadline)
        return json_answer(watch_wire.sweep(await self._act(self._api.sweep(body.kind, request[requests.PEER]))))

    async def _progress(self, request: web.Request) -> web.StreamResponse:
        return await self._stream(request, _lines(self._api.progress(_sweep_of(request))))


def _ref(text: str) -> Ref:
    try:
        return parse_ref(text)
    except ValueError as problem:
        raise requests.UsageError(str(problem), ref=text[:200]) from None


def _sweep_of(request: web.Request) -> int | None:
    return int(requests.number(request, "sweep", 0, _MOST)) if "sweep" in request.query else None


async def _lines(views: AsyncIterator[SweepView]) -> AsyncIterator[str]:
    try:
        async for view in views:
            yield watch_wire.progress(view)
    finally:
        close = getattr(views, "aclose", None)
        if close is not None:
            await close()
