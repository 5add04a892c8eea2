"""The control socket, over real connections: what it answers, and what it refuses."""

from __future__ import annotations

import asyncio
from pathlib import Path

import aiohttp
import pytest

from genesisd.control import messages, patch_messages
from genesisd.control.server import ControlServer
from genesisd.errors import ConflictError
from tests.fakes.control_api import FakeApi, FixedClock, failed_worker, ready_worker, stopped_worker
from tests.helpers.control_socket import eventually, http, server

__all__ = ["http", "server"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker(), failed_worker(), stopped_worker())


# --- answers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "address", "body", "model"),
    [
        ("GET", "/v1/status", None, messages.StatusAnswer),
        ("GET", "/v1/workers", None, messages.WorkersAnswer),
        ("GET", "/v1/workers/tiny", None, messages.WorkerAnswer),
        ("GET", "/v1/workers/tiny/patches", None, patch_messages.PatchesAnswer),
        ("GET", "/v1/version", None, messages.VersionAnswer),
        ("GET", "/v1/pins", None, messages.PinsAnswer),
        ("POST", "/v1/config/check", {"path": "/bad.yaml"}, messages.ConfigCheckAnswer),
        ("POST", "/v1/config/check", None, messages.ConfigCheckAnswer),
        ("POST", "/v1/reload", None, messages.ReloadAnswer),
        ("POST", "/v1/shutdown", {"drain": True}, messages.ShutdownAnswer),
        ("POST", "/v1/workers/tiny/start", None, messages.WorkerAnswer),
        ("POST", "/v1/workers/tiny/stop", {"drain": False}, messages.WorkerAnswer),
        ("POST", "/v1/workers/tiny/restart", None, messages.WorkerAnswer),
        ("POST", "/v1/workers/tiny/drain", None, messages.WorkerAnswer),
        ("POST", "/v1/workers/tiny/reset", None, messages.WorkerAnswer),
        ("POST", "/v1/workers/tiny/wait", {"phases": ["ready"], "timeout": 1}, messages.WorkerAnswer),
    ],
)
async def test_answers_as_declared(http, method, address, body, model) -> None:
    """Each answer is one of the declared messages, with no field more or less."""
    async with http.request(method, address, json=body) as answer:
        assert answer.status in (200, 202), await answer.text()
        model.model_validate_json(await answer.text())
        assert answer.headers["Genesisd-Protocol"] == "1-1"


async def test_status_tells_ages_and_health(http, api) -> None:
    """Status carries ages, not clock readings, and is unhealthy while a wanted worker is not ready."""
    async with http.get("/v1/status") as answer:
        told = await answer.json()
    tiny = told["workers"][0]
    assert (tiny["for_seconds"], tiny["ready_for"], tiny["probes"][1]["age_seconds"]) == (3725.0, 3700.0, 12.0)
    assert told["healthy"] is False
    del api.views["big"]
    async with http.get("/v1/status") as answer:
        assert (await answer.json())["healthy"] is True


async def test_a_changed_view_is_seen_at_once(http, api) -> None:
    """The kept text never outlives the view that it was made from."""
    for text in ("100 % of %s", 'quotes " and \\', "späť 漢字"):
        api.views["tiny"] = ready_worker(reason=api.views["tiny"].reason.__class__("x", text))
        async with http.get("/v1/status") as answer:
            assert (await answer.json())["workers"][0]["reason"]["text"] == text


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "code"),
    [
        ("GET", "/v1/workers/none", None, 404, "not_found"),
        ("GET", "/v1/workers/none/logs", None, 404, "not_found"),
        ("GET", "/v1/events?worker=none", None, 404, "not_found"),
        ("POST", "/v1/workers/none/start", None, 404, "not_found"),
        ("POST", "/v1/workers/none/wait", {"phases": ["ready"]}, 404, "not_found"),
        ("GET", "/v1/nothing", None, 404, "usage"),
        ("GET", "/v1/reload", None, 405, "usage"),
        ("POST", "/v1/workers/tiny/explode", None, 404, "usage"),
        ("POST", "/v1/workers/tiny/stop", {"dran": True}, 400, "usage"),
        ("POST", "/v1/workers/tiny/wait", {"phases": ["redy"]}, 400, "usage"),
        ("POST", "/v1/workers/tiny/wait", {"phases": []}, 400, "usage"),
        ("POST", "/v1/workers/tiny/wait", {"phases": ["ready"], "timeout": -1}, 400, "usage"),
        ("POST", "/v1/workers/tiny/wait", {"phases": ["failed"], "timeout": 0}, 504, "timeout"),
        ("GET", "/v1/workers/tiny/logs?lines=many", None, 400, "usage"),
        ("GET", "/v1/workers/tiny/logs?lines=-1", None, 400, "usage"),
        ("GET", "/v1/workers/tiny/logs?lines=nan", None, 400, "usage"),
        ("GET", "/v1/events?follow=maybe", None, 400, "usage"),
        ("GET", "/v1/events?since=yesterday", None, 400, "usage"),
    ],
)
async def test_refuses(http, method, address, body, status, code) -> None:
    """A refusal has the HTTP status of its code, and says what was wrong."""
    async with http.request(method, address, json=body) as answer:
        told = messages.ErrorAnswer.model_validate_json(await answer.text())
        assert (answer.status, told.error.code) == (status, code)
        assert told.error.message


async def test_an_error_of_the_daemon_keeps_code_hint_and_fields(http, api) -> None:
    """What the daemon raises arrives whole."""
    api.refuse = ConflictError("the card is taken", hint="free it", worker="tiny", card=0, path=Path("/x"))
    async with http.post("/v1/workers/tiny/start") as answer:
        assert answer.status == 409
        assert await answer.json() == {
            "schema": 1,
            "error": {
                "code": "conflict",
                "message": "the card is taken",
                "hint": "free it",
                "fields": {"worker": "tiny", "card": 0, "path": "/x"},
            },
        }


async def test_a_bug_in_the_daemon_is_an_answer_too(http, api, caplog) -> None:
    """An unexpected exception is logged with its trace and answered with code error, and the socket lives on."""
    api.broken = ZeroDivisionError("oops")
    async with http.get("/v1/status") as answer:
        assert (answer.status, (await answer.json())["error"]["code"]) == (500, "error")
    assert "ZeroDivisionError" in caplog.text
    api.broken = None
    async with http.get("/v1/status") as answer:
        assert answer.status == 200


@pytest.mark.parametrize("version", ["9", "0", "-1", "one", "9" * 5000])
async def test_refuses_a_foreign_protocol(http, version) -> None:
    """A client of another protocol version is told which versions would do."""
    async with http.get("/v1/status", headers={"Genesisd-Protocol": version}) as answer:
        told = await answer.json()
        assert (answer.status, told["error"]["code"]) == (400, "protocol")
        assert told["error"]["fields"] == {"min": 1, "max": 1}


async def test_an_order_that_takes_too_long_is_a_timeout_and_still_done(api, path) -> None:
    """The client is told after the deadline; the order itself is carried through."""
    api.delay = 0.2
    server = ControlServer(api, path, FixedClock(), deadline=0.02)
    await server.start()
    try:
        async with (
            aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http,
            http.post("/v1/workers/tiny/stop") as answer,
        ):
            assert (answer.status, (await answer.json())["error"]["code"]) == (504, "timeout")
        await eventually(lambda: api.orders == [("stop", "tiny")])
    finally:
        await server.close()


async def test_an_order_outlives_its_client(server, api, path) -> None:
    """A client that vanishes in the middle does not leave half an order."""
    api.delay = 0.1
    _, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"POST /v1/workers/tiny/stop HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n")
    await writer.drain()
    await eventually(lambda: bool(server._acts))
    writer.close()
    await writer.wait_closed()
    await eventually(lambda: api.orders == [("stop", "tiny")])
