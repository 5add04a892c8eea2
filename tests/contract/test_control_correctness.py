"""What the control socket says of correctness, over real connections."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import aiohttp
import pytest

from genesisd.control import correctness_messages as messages
from genesisd.control.client import Client, ControlError
from genesisd.control.messages import ErrorAnswer
from genesisd.control.server import ControlServer
from tests.fakes.control_api import FakeApi, FixedClock, ready_worker
from tests.fakes.correctness_api import RUN
from tests.helpers.control_socket import eventually, http, server

__all__ = ["http", "server"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker())


@pytest.mark.parametrize(
    ("method", "address", "body", "model"),
    [
        ("GET", "/v1/probes", None, messages.ProbesAnswer),
        ("GET", "/v1/probes?worker=tiny", None, messages.ProbesAnswer),
        ("POST", "/v1/workers/tiny/probes/golden/run", None, messages.ProbeRunAnswer),
        ("GET", "/v1/workers/tiny/probes/history?kind=golden&limit=1", None, messages.ProbeHistoryAnswer),
        ("POST", "/v1/workers/tiny/golden", {"explain": {"capital": "P61c"}}, messages.GoldenAnswer),
        ("GET", "/v1/workers/tiny/why", None, messages.WhyAnswer),
        ("GET", "/v1/incidents", None, messages.IncidentsAnswer),
        ("GET", "/v1/incidents/7", None, messages.IncidentAnswer),
        ("POST", "/v1/incidents/7/replay", {"worker": "tiny"}, messages.ReplayAnswer),
        ("GET", "/v1/quarantine", None, messages.QuarantineAnswer),
        ("POST", "/v1/quarantine/release", {"what": "card", "name": "1"}, messages.QuarantineAnswer),
    ],
)
async def test_answers_as_declared(http, method, address, body, model) -> None:
    """Each answer is one of the declared messages, with no field more or less."""
    async with http.request(method, address, json=body) as answer:
        assert answer.status == 200, await answer.text()
        model.model_validate_json(await answer.text())


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "code"),
    [
        ("GET", "/v1/probes?worker=none", None, 404, "not_found"),
        ("POST", "/v1/workers/none/probes/golden/run", None, 404, "not_found"),
        ("POST", "/v1/workers/tiny/probes/gold/run", None, 404, "not_found"),
        ("POST", "/v1/workers/tiny/probes/golden/run", {"timeout": 0}, 400, "usage"),
        ("GET", "/v1/workers/none/probes/history", None, 404, "not_found"),
        ("GET", "/v1/workers/tiny/probes/history?limit=1001", None, 400, "usage"),
        ("POST", "/v1/workers/tiny/golden", None, 409, "conflict"),
        ("POST", "/v1/workers/tiny/golden", {"explain": ["capital"]}, 400, "usage"),
        ("GET", "/v1/workers/none/why", None, 404, "not_found"),
        ("GET", "/v1/incidents?worker=none", None, 404, "not_found"),
        ("GET", "/v1/incidents?open=perhaps", None, 400, "usage"),
        ("GET", "/v1/incidents/8", None, 404, "not_found"),
        ("GET", "/v1/incidents/" + "9" * 5000, None, 404, "usage"),
        ("GET", "/v1/incidents/seven", None, 404, "usage"),
        ("POST", "/v1/incidents/7/replay", None, 400, "usage"),
        ("POST", "/v1/incidents/8/replay", {"worker": "tiny"}, 404, "not_found"),
        ("POST", "/v1/quarantine/release", {"what": "patch", "name": "P61c"}, 400, "usage"),
        ("POST", "/v1/quarantine/release", {"what": "card", "name": "1", "worker": "tiny"}, 400, "usage"),
        ("POST", "/v1/quarantine/release", {"what": "worker", "name": "tiny"}, 400, "usage"),
        ("POST", "/v1/quarantine/release", {"what": "card", "name": "0"}, 404, "not_found"),
    ],
)
async def test_refuses(http, api, method, address, body, status, code) -> None:
    """A refusal has the HTTP status of its code, and nothing was ordered."""
    async with http.request(method, address, json=body) as answer:
        told = ErrorAnswer.model_validate_json(await answer.text())
    assert (answer.status, told.error.code) == (status, code)
    assert api.orders == []


async def test_lists_take_their_wishes_along(http, api) -> None:
    """Worker, kind, limit and open reach the daemon; absent ones have defaults."""
    for address in ("probes/history", "probes/history?kind=golden&limit=3"):
        async with http.get(f"/v1/workers/tiny/{address}") as answer:
            assert answer.status == 200
    for address in ("incidents", "incidents?worker=tiny&open=1&limit=2"):
        async with http.get(f"/v1/{address}") as answer:
            assert answer.status == 200
    assert api.asked == [("tiny", None, 20), ("tiny", "golden", 3), (None, 20, False), ("tiny", 2, True)]


async def test_a_number_that_is_none_is_told_by_its_name(http, api) -> None:
    """What a broken engine computes must not make an answer that strict readers of JSON refuse."""
    api.run = replace(RUN, evidence={"logprobs": [float("nan"), float("inf"), -0.5]})
    async with http.post("/v1/workers/tiny/probes/golden/run") as answer:
        text = await answer.text()
    assert '"logprobs":["nan","inf",-0.5]' in text


async def test_a_long_ask_ends_at_its_own_deadline(api, path) -> None:
    """Not at that of short requests; what was begun is cancelled."""
    server = ControlServer(api, path, FixedClock(), deadline=0.01)
    await server.start()
    try:
        api.delay = 0.05
        with Client(path) as client:
            told = await asyncio.to_thread(client.run_probe, "tiny", "golden", 20.0)
            assert told["verdict"] == "failure"
            api.delay = 600
            with pytest.raises(ControlError) as caught:
                await asyncio.to_thread(client.run_probe, "tiny", "golden", 0.05)
    finally:
        await server.close()
    assert (caught.value.code, api.cancelled) == ("timeout", 1)


@pytest.mark.parametrize(
    ("address", "body"),
    [
        ("workers/tiny/probes/golden/run", {}),
        ("workers/tiny/golden", {"explain": {"capital": "P61c"}}),
        ("incidents/7/replay", {"worker": "tiny"}),
    ],
)
async def test_a_long_ask_ends_with_its_client(server, api, path, address, body) -> None:
    """Nobody would read the answer, and a worker that is asked for minutes is busy for its users."""
    api.delay = 600
    async with aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http:
        asking = asyncio.create_task(http.post(f"/v1/{address}", json=body))
        await eventually(lambda: api.begun == 1)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    await eventually(lambda: api.cancelled == 1)
    assert api.orders == []


async def test_a_release_outlives_its_client(server, api, path) -> None:
    """It is an order: a client that vanishes does not leave half of it."""
    api.delay = 0.1
    _, writer = await asyncio.open_unix_connection(str(path))
    body = b'{"what":"card","name":"1"}'
    writer.write(b"POST /v1/quarantine/release HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
    await writer.drain()
    await eventually(lambda: bool(server._acts))
    writer.close()
    await writer.wait_closed()
    await eventually(lambda: api.orders == [("release", "card", "1")])


async def test_the_client_speaks_all_of_it(server, path) -> None:
    """Each method gets what it says."""
    with Client(path) as client:

        def ask() -> list[object]:
            return [
                [one["kind"] for one in client.probes("tiny")],
                len(client.probe_history("tiny", None, 1)),
                client.record_golden("tiny", {"capital": "P61c"}, dry_run=True, timeout=20)["differs"],
                [one["id"] for one in client.incidents(None, 10, open_only=True)],
                client.incident(7)["happenings"][1]["fields"],
                client.why("tiny")["incident"],
                client.replay(7, "tiny", 20)[0]["same"],
                len(client.quarantine()),
                [one["name"] for one in client.release("patch", "P61c", "tiny")],
            ]

        told = await asyncio.to_thread(ask)
    kinds = ["progress", "golden", "acceptance", "needle"]
    assert told == [kinds, 1, {"capital": "P61c"}, [7], {"incarnation": 4}, 7, False, 2, ["1"]]
