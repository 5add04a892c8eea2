"""The control API's addresses for correctness: probes, goldens, incidents, quarantine.

Those that ask a worker questions may take minutes: they carry a deadline of their own, and end when their client
goes, since nobody would read the answer. A release is an order as any other and is carried through.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from aiohttp import web

from genesisd.control import correctness_messages as messages
from genesisd.control import correctness_wire as wire
from genesisd.control import requests
from genesisd.control.answer import json_answer
from genesisd.control.correctness_views import QuarantinedView
from genesisd.control.ports import Api

Act = Callable[[Coroutine[Any, Any, Sequence[QuarantinedView]]], Awaitable[Sequence[QuarantinedView]]]

_MOST_ROWS = 1000


class CorrectnessRoutes:
    """Translates; decides nothing.

    Args:
        api: the daemon.
        act: carries an order to its end, whatever becomes of the client.
        deadline: seconds that a question from the store may take.
    """

    def __init__(self, api: Api, act: Act, deadline: float) -> None:
        self._api = api
        self._act = act
        self._deadline = deadline

    def register(self, app: web.Application) -> None:
        """Add the addresses."""
        app.router.add_get("/v1/probes", self._probes)
        app.router.add_post("/v1/workers/{name}/probes/{kind}/run", self._run)
        app.router.add_get("/v1/workers/{name}/probes/history", self._history)
        app.router.add_post("/v1/workers/{name}/golden", self._golden)
        app.router.add_get("/v1/workers/{name}/why", self._why)
        app.router.add_get("/v1/incidents", self._incidents)
        app.router.add_get(r"/v1/incidents/{id:\d{1,18}}", self._incident)
        app.router.add_post(r"/v1/incidents/{id:\d{1,18}}/replay", self._replay)
        app.router.add_get("/v1/quarantine", self._quarantine)
        app.router.add_post("/v1/quarantine/release", self._release)

    # --- probes -----------------------------------------------------------------------------------------------

    async def _probes(self, request: web.Request) -> web.Response:
        return json_answer(wire.probes(self._api.probes(request.query.get("worker"))))

    async def _run(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.ProbeRunRequest, self._deadline)
        name, kind = request.match_info["name"], request.match_info["kind"]
        async with asyncio.timeout(body.timeout):
            return json_answer(wire.probe_run(await self._api.run_probe(name, kind, request[requests.PEER])))

    async def _history(self, request: web.Request) -> web.Response:
        name, kind = request.match_info["name"], request.query.get("kind")
        limit = int(requests.number(request, "limit", 20, _MOST_ROWS))
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.probe_history(await self._api.probe_history(name, kind, limit)))

    async def _golden(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.GoldenRequest, self._deadline)
        name, peer = request.match_info["name"], request[requests.PEER]
        async with asyncio.timeout(body.timeout):
            made = await self._api.record_golden(name, peer, explain=body.explain, dry_run=body.dry_run)
        return json_answer(wire.golden(made))

    # --- incidents --------------------------------------------------------------------------------------------

    async def _why(self, request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.why(await self._api.why(request.match_info["name"])))

    async def _incidents(self, request: web.Request) -> web.Response:
        limit = int(requests.number(request, "limit", 20, _MOST_ROWS))
        open_only, worker = requests.flag(request, "open"), request.query.get("worker")
        if worker is not None:
            self._api.worker(worker)  # a mistyped name must not read as a worker without incidents
        async with asyncio.timeout(self._deadline):
            found = await self._api.incidents(worker, limit, open_only=open_only)
        return json_answer(wire.incidents(found))

    async def _incident(self, request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.incident(await self._api.incident(int(request.match_info["id"]))))

    async def _replay(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.ReplayRequest, self._deadline)
        id_, peer = int(request.match_info["id"]), request[requests.PEER]
        async with asyncio.timeout(body.timeout):
            return json_answer(wire.replays(await self._api.replay(id_, body.worker, peer)))

    # --- quarantine -------------------------------------------------------------------------------------------

    async def _quarantine(self, _request: web.Request) -> web.Response:
        async with asyncio.timeout(self._deadline):
            return json_answer(wire.quarantine(await self._api.quarantine()))

    async def _release(self, request: web.Request) -> web.Response:
        body = await requests.read_body(request, messages.ReleaseRequest, self._deadline)
        order = self._api.release(body.what, body.name, body.worker, request[requests.PEER])
        return json_answer(wire.quarantine(await self._act(order)))
