"""The control API over HTTP on a Unix socket. Translates; decides nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from genesisd.clock import Clock
from genesisd.control import listen, messages, requests, streams, wire
from genesisd.control.answer import json_answer, refusal
from genesisd.control.correctness_routes import CorrectnessRoutes
from genesisd.control.peers import check_peer
from genesisd.control.ports import Api, WaitTimeoutError
from genesisd.control.protocol import HEARTBEAT, MAX_BODY, PROTOCOL_HEADER
from genesisd.control.views import EventView, WorkerView
from genesisd.control.watch_ports import WatchApi
from genesisd.control.watch_routes import WatchRoutes
from genesisd.errors import GenesisError

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Result = TypeVar("Result")

_log = logging.getLogger(__name__)
_MOST_LINES = 100_000


class ControlServer:
    """Serves an Api at a socket path.

    Args:
        api: the daemon.
        path: where the socket is made; its folder must exist.
        clock: for the ages in answers.
        watch: the upstream watch, or None where there is none to ask.
        group: name or id of the group whose members may give orders, or None for root and the daemon's user only.
        heartbeat: seconds of silence before a followed stream gets an empty line.
        deadline: seconds that a request may take, waits and streams apart.
    """

    def __init__(
        self,
        api: Api,
        path: Path,
        clock: Clock,
        *,
        watch: WatchApi | None = None,
        group: str | None = None,
        heartbeat: float = HEARTBEAT,
        deadline: float = 30.0,
    ) -> None:
        self._api = api
        self._path = path
        self._clock = clock
        self._watch = watch
        self._group = None if group is None else listen.group_id(group)
        self._heartbeat = heartbeat
        self._deadline = deadline
        self._texts = wire.WorkerTexts()
        self._runner: web.AppRunner | None = None
        self._site: web.BaseSite | None = None
        self._inode = 0
        self._acts: set[asyncio.Task[Any]] = set()
        self._streams: set[asyncio.Task[Any]] = set()

    async def start(self) -> None:
        """Listen; raises ConflictError or ConfigError, see ``listen.listen``."""
        listener = listen.listen(self._path, self._group)
        self._inode = self._path.lstat().st_ino
        self._runner = web.AppRunner(
            self._application(),
            access_log=None,
            # A client that goes ends its stream at once; orders are shielded from it.
            handler_cancellation=True,
            shutdown_timeout=1.0,
            keepalive_timeout=75.0,
            lingering_time=1.0,
        )
        await self._runner.setup()
        self._site = await listen.serve(self._runner, listener)

    @property
    def reachable(self) -> bool:
        """Whether the socket's file is still the one that was made; one that shall not be there is not missed."""
        return self._site is None or listen.inode(self._path) == self._inode

    async def reopen(self) -> None:
        """Make the socket anew after somebody removed it; raises as ``start`` does. Open connections go on."""
        if self._runner is None or self._site is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        listener = listen.listen(self._path, self._group)
        self._inode = self._path.lstat().st_ino
        old, self._site = self._site, await listen.serve(self._runner, listener)
        await old.stop()

    async def close(self) -> None:
        """End all streams, finish what was ordered, remove the socket."""
        self._site = None
        listen.remove(self._path, self._inode)
        for task in tuple(self._streams):
            task.cancel()
        if self._acts:
            await asyncio.wait(self._acts, timeout=1.0)
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def _application(self) -> web.Application:
        app = web.Application(client_max_size=MAX_BODY, middlewares=[self._guard])
        app.router.add_get("/v1/status", self._status)
        app.router.add_get("/v1/version", self._version)
        app.router.add_get("/v1/events", self._events)
        app.router.add_get("/v1/pins", self._pins)
        app.router.add_post("/v1/config/check", self._check_config)
        app.router.add_post("/v1/reload", self._reload)
        app.router.add_post("/v1/shutdown", self._shutdown)
        app.router.add_get("/v1/workers", self._workers)
        app.router.add_get("/v1/workers/{name}", self._worker)
        app.router.add_get("/v1/workers/{name}/logs", self._logs)
        app.router.add_get("/v1/workers/{name}/patches", self._patches)
        app.router.add_post("/v1/workers/{name}/wait", self._wait)
        app.router.add_post("/v1/workers/{name}/{verb:start|stop|restart|drain|reset}", self._verb)
        CorrectnessRoutes(self._api, self._act, self._deadline).register(app)
        WatchRoutes(self._watch, self._act, self._stream, self._deadline).register(app)
        app.on_response_prepare.append(_stamp)
        return app

    # --- what every request passes ----------------------------------------------------------------------------

    @web.middleware
    async def _guard(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            request[requests.PEER] = check_peer(requests.connection_of(request), self._group)
            requests.check_protocol(request)
            return await handler(request)
        except GenesisError as problem:
            return refusal(problem)
        except TimeoutError:
            return refusal(WaitTimeoutError("the daemon did not finish in time", hint="genesisctl status"))
        except web.HTTPException as problem:
            return refusal(requests.from_http(problem), problem.status)
        except ConnectionError:
            raise
        except Exception:  # noqa: BLE001 - one bad request must not take the socket down; it is logged with its trace
            _log.exception("a control request failed: %s %s", request.method, request.path)
            return refusal(GenesisError("the daemon failed to answer; its log has the reason"))

    async def _act(self, order: Coroutine[Any, Any, Result]) -> Result:
        """Carry out an order to its end even if the client goes away in the middle."""
        task = asyncio.ensure_future(order)
        self._acts.add(task)
        task.add_done_callback(self._done)
        async with asyncio.timeout(self._deadline):
            return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._acts.discard(task)
        if not task.cancelled():
            task.exception()  # a vanished client never asks for it

    async def _stream(self, request: web.Request, lines: AsyncIterator[str]) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a handler always runs in a task
        self._streams.add(task)
        try:
            return await streams.send_stream(request, lines, self._heartbeat)
        finally:
            self._streams.discard(task)

    # --- asking -----------------------------------------------------------------------------------------------

    async def _status(self, _request: web.Request) -> web.Response:
        return json_answer(wire.status(self._api.status(), self._texts, self._clock.monotonic()))

    async def _workers(self, _request: web.Request) -> web.Response:
        return json_answer(wire.workers(self._api.workers(), self._texts, self._clock.monotonic()))

    async def _worker(self, request: web.Request) -> web.Response:
        return self._one(self._api.worker(request.match_info["name"]))

    async def _patches(self, request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.patches(await self._api.patches(request.match_info["name"])))

    async def _version(self, _request: web.Request) -> web.Response:
        return json_answer(wire.version(self._api.version()))

    async def _pins(self, _request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.pins(await self._api.pins()))

    async def _check_config(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.ConfigCheckRequest, self._deadline)
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.config_check(await self._api.check_config(body.path)))

    async def _logs(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        self._api.worker(name)
        count = requests.number(request, "lines", 100, _MOST_LINES)
        lines = self._api.logs(name, int(count), follow=requests.flag(request, "follow"))
        return await self._stream(request, _each(lines, wire.log_line))

    async def _events(self, request: web.Request) -> web.StreamResponse:
        worker = request.query.get("worker")
        if worker is not None:
            self._api.worker(worker)
        since = requests.number(request, "since", 0, 1e12) if "since" in request.query else None
        events: AsyncIterator[EventView] = self._api.events(
            since, follow=requests.flag(request, "follow"), worker=worker
        )
        return await self._stream(request, _each(events, wire.event))

    # --- ordering ---------------------------------------------------------------------------------------------

    async def _verb(self, request: web.Request) -> web.Response:
        name, verb, peer = request.match_info["name"], request.match_info["verb"], request[requests.PEER]
        body = await requests.read_body(request, messages.VerbRequest, self._deadline)
        match verb:
            case "start" | "drain" | "reset":
                order = getattr(self._api, verb)(name, peer)
            case _:
                order = getattr(self._api, verb)(name, peer, drain=body.drain)
        return self._one(await self._act(order))

    async def _wait(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.WaitRequest, self._deadline)
        name = request.match_info["name"]
        return self._one(await self._api.wait_for(name, frozenset(body.phases), body.timeout))

    async def _reload(self, request: web.Request) -> web.Response:
        return json_answer(wire.reload(await self._act(self._api.reload(request[requests.PEER]))))

    async def _shutdown(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.ShutdownRequest, self._deadline)
        await self._act(self._api.shutdown(request[requests.PEER], drain=body.drain))
        return json_answer(wire.shutdown(drain=body.drain), status=202)

    # --- bits -------------------------------------------------------------------------------------------------

    def _one(self, view: WorkerView) -> web.Response:
        return json_answer(wire.worker(view, self._texts, self._clock.monotonic()))


async def _each(items: AsyncIterator[Any], text: Callable[[Any], str]) -> AsyncIterator[str]:
    try:
        async for item in items:
            yield text(item)
    finally:
        close = getattr(items, "aclose", None)
        if close is not None:
            await close()


async def _stamp(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers[PROTOCOL_HEADER] = requests.RANGE
