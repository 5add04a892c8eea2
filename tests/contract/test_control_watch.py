"""What the control socket says of the upstream watch, over real connections."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from genesisd.control import watch_messages as messages
from genesisd.control.client import Client, ControlError
from genesisd.control.messages import ErrorAnswer
from genesisd.control.server import ControlServer
from tests.fakes.control_api import FakeApi, FixedClock, ready_worker
from tests.helpers.control_socket import eventually, http, server

__all__ = ["http", "server"]

MERGED = "vllm%2342006"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker())


@pytest.mark.parametrize(
    ("method", "address", "body", "model"),
    [
        ("GET", "", None, messages.WatchStatusAnswer),
        ("GET", "/rows", None, messages.WatchRowsAnswer),
        ("GET", f"/pull?ref={MERGED}", None, messages.WatchedAnswer),
        ("GET", "/pull?ref=vllm-project/vllm%2345199", None, messages.WatchedAnswer),
        ("GET", f"/why?ref={MERGED}", None, messages.WatchWhyAnswer),
        ("GET", "/report", None, messages.ReportAnswer),
        ("GET", "/report?sweep=12&form=html", None, messages.ReportAnswer),
        ("GET", "/decisions", None, messages.DecisionsAnswer),
        ("GET", "/decisions?open=1", None, messages.DecisionsAnswer),
        ("POST", "/decisions/4/accept", None, messages.DecisionAnswer),
        ("POST", "/decisions/3/decline", {"why": "not here"}, messages.DecisionAnswer),
        ("POST", "/decisions/3/snooze", {"until": 1.9e9}, messages.DecisionAnswer),
        ("POST", "/dossiers", {"ref": "vllm#42006"}, messages.DossiersAnswer),
        ("POST", "/forget", {"ref": "vllm#42006"}, messages.ForgottenAnswer),
        ("POST", "/sweep", None, messages.SweepAnswer),
        ("POST", "/sweep", {"kind": "hourly"}, messages.SweepAnswer),
    ],
)
async def test_answers_as_declared(http, method, address, body, model) -> None:
    """Each answer is one of the declared messages, with no field more or less."""
    async with http.request(method, f"/v1/watch{address}", json=body) as answer:
        assert answer.status == 200, await answer.text()
        model.model_validate_json(await answer.text())


@pytest.mark.parametrize(
    ("method", "address", "body", "status", "code"),
    [
        ("GET", "/pull", None, 400, "usage"),
        ("GET", "/pull?ref=42006", None, 400, "usage"),
        ("GET", "/pull?ref=vllm%231", None, 404, "not_found"),
        ("GET", "/why?ref=vllm%231", None, 404, "not_found"),
        ("GET", "/why?ref=other%2342006", None, 400, "usage"),
        ("GET", "/report?form=pdf", None, 400, "usage"),
        ("GET", "/report?sweep=some", None, 400, "usage"),
        ("GET", "/report?sweep=11", None, 404, "not_found"),
        ("GET", "/decisions?open=perhaps", None, 400, "usage"),
        ("POST", "/decisions/99/accept", None, 404, "not_found"),
        ("POST", "/decisions/3/accept", None, 409, "conflict"),
        ("POST", "/decisions/3/decline", None, 400, "usage"),
        ("POST", "/decisions/3/decline", {"why": "  "}, 400, "usage"),
        ("POST", "/decisions/3/decline", {"why": "x", "revisit_when": [""]}, 400, "usage"),
        ("POST", "/decisions/3/snooze", {"why": "later"}, 400, "usage"),
        ("POST", "/decisions/3/snooze", {"until": 0}, 400, "usage"),
        ("POST", "/decisions/3/retire", None, 404, "usage"),
        ("POST", "/decisions/three/accept", None, 404, "usage"),
        ("POST", "/decisions/" + "9" * 500 + "/accept", None, 404, "usage"),
        ("POST", "/dossiers", None, 400, "usage"),
        ("POST", "/dossiers", {"ref": "vllm"}, 400, "usage"),
        ("POST", "/dossiers", {"ref": "vllm#1"}, 404, "not_found"),
        ("POST", "/dossiers", {"ref": "vllm#42006", "timeout": 0}, 400, "usage"),
        ("POST", "/forget", None, 400, "usage"),
        ("POST", "/forget", {"ref": "vllm"}, 400, "usage"),
        ("POST", "/forget", {"ref": "vllm#1"}, 404, "not_found"),
        ("POST", "/sweep", {"kind": "yearly"}, 400, "usage"),
        ("GET", "/progress?sweep=some", None, 400, "usage"),
    ],
)
async def test_refuses(http, api, method, address, body, status, code) -> None:
    """A refusal has the HTTP status of its code, and nothing was ordered."""
    async with http.request(method, f"/v1/watch{address}", json=body) as answer:
        told = ErrorAnswer.model_validate_json(await answer.text())
    assert (answer.status, told.error.code) == (status, code)
    assert api.watch.orders == []


async def test_an_answer_reaches_the_watch_with_all_that_was_said(http, api) -> None:
    """Reason, time and predicates; and who said it is told."""
    api.watch.has_dossier = True
    asked = [
        ("3/accept", {"why": "looked at it"}),
        ("4/snooze", {"until": 1.9e9, "why": "after the release"}),
        ("2/decline", {"why": "no such card", "revisit_when": ["gpu.sm >= 89", "model: gemma-4"]}),
    ]
    for address, body in asked:
        async with http.post(f"/v1/watch/decisions/{address}", json=body) as answer:
            told = messages.DecisionAnswer.model_validate_json(await answer.text())
        assert told.decision.by.startswith("uid ")
    assert api.watch.orders == [
        ("accepted", 3, "looked at it", None, ()),
        ("snoozed", 4, "after the release", 1.9e9, ()),
        ("declined", 2, "no such card", None, ("gpu.sm >= 89", "model: gemma-4")),
    ]


async def test_progress_is_a_stream_that_ends_with_the_sweep(http, api) -> None:
    """A line each time it gets on, empty ones while it does not."""
    api.watch.step_delay = 0.2
    async with http.get("/v1/watch/progress?sweep=13") as answer:
        lines = (await answer.text()).splitlines()
    told = [messages.SweepAnswer.model_validate_json(line).sweep for line in lines if line]
    assert [(one.step, one.outcome) for one in told] == [
        ("asking upstream", ""),
        ("3 rows changed, 2 decisions opened", "done"),
    ]
    assert "" in lines


async def test_a_sweep_that_there_is_not_ends_its_stream_with_an_error(http) -> None:
    """As every stream that breaks off."""
    async with http.get("/v1/watch/progress?sweep=77") as answer:
        told = ErrorAnswer.model_validate_json((await answer.text()).strip())
    assert told.error.code == "not_found"


async def test_a_reader_of_progress_that_goes_is_let_go(server, api, path) -> None:
    """The sweep is not its business, and its stream is closed."""
    api.watch.step_delay = 600
    async with aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http:
        async with http.get("/v1/watch/progress") as answer:
            assert json.loads(await answer.content.readline())["sweep"]["id"] == 13
        await http.close()
    await eventually(lambda: not server._streams)


async def test_a_dossier_ends_with_its_client_and_at_its_deadline(api, path) -> None:
    """Not at that of short requests."""
    server = ControlServer(api, path, FixedClock(), watch=api.watch, deadline=0.01)
    await server.start()
    try:
        api.watch.delay = 0.05
        with Client(path) as client:
            told = await asyncio.to_thread(client.dossiers, "vllm#42006", None, None, anew=True, timeout=20)
            assert told[0]["outcome"] == "partial"
            api.watch.delay = 600
            with pytest.raises(ControlError) as caught:
                await asyncio.to_thread(client.dossiers, "vllm#42006", None, None, anew=False, timeout=0.05)
        assert (caught.value.code, api.watch.cancelled) == ("timeout", 1)
        async with aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http:
            before = len(api.watch.asked)
            asking = asyncio.create_task(http.post("/v1/watch/dossiers", json={"ref": "vllm#42006"}))
            await eventually(lambda: len(api.watch.asked) > before)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        await eventually(lambda: api.watch.cancelled == 2)
    finally:
        await server.close()


async def test_an_answer_outlives_its_client(server, api, path) -> None:
    """It is an order: a client that vanishes does not leave half of it."""
    api.watch.delay = 0.1
    _, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"POST /v1/watch/decisions/4/accept HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}")
    await writer.drain()
    await eventually(lambda: bool(server._acts))
    writer.close()
    await writer.wait_closed()
    await eventually(lambda: api.watch.orders == [("accepted", 4, "", None, ())])


async def test_where_nothing_is_watched(http, api) -> None:
    """Status says so, and a sweep is a conflict with how to mend it."""
    api.watch.watchlist = None
    async with http.get("/v1/watch") as answer:
        assert messages.WatchStatusAnswer.model_validate_json(await answer.text()).watchlist is None
    async with http.post("/v1/watch/sweep") as answer:
        told = ErrorAnswer.model_validate_json(await answer.text())
    assert (told.error.code, told.error.hint) == ("conflict", "set watch.watchlist in the configuration")


async def test_a_daemon_without_a_watch_says_so(api, path) -> None:
    """Rather than that there is no such address."""
    server = ControlServer(api, path, FixedClock())
    await server.start()
    try:
        with Client(path) as client, pytest.raises(ControlError) as caught:
            await asyncio.to_thread(client.watch)
    finally:
        await server.close()
    assert (caught.value.code, caught.value.message) == ("unavailable", "this daemon does not watch upstream")


async def test_the_client_speaks_all_of_it(server, api, path) -> None:
    """Each method gets what it says."""
    api.watch.has_dossier = True
    with Client(path) as client:

        def ask() -> list[object]:
            return [
                client.watch()["rows"]["merged"],
                [one["ref"] for one in client.watch_rows()],
                client.watched("vllm#42006")["pins"][0]["collisions"][0]["place"],
                client.watch_why("vllm#42006")["text"],
                client.watch_report(None, "html")["form"],
                client.watch_report(12, "markdown")["sweep"],
                [one["id"] for one in client.decisions(open_only=True)],
                client.accept(3, "seen")["standing"],
                client.decline(4, "no", ["model: x"])["revisit_when"],
                client.snooze(2, 1.9e9, "")["until"],
                client.dossiers("vllm#42006", "PN384", None, anew=False, timeout=20)[0]["edits"][1]["covered"],
                client.forget("vllm#42006")["pins"],
                client.sweep("weekly")["kind"],
                [one["outcome"] for one in client.sweep_progress(13)],
                client.watch()["stale"],
            ]

        told = await asyncio.to_thread(ask)
    why = "vllm#42006 is merged, and cpu-0.32.0 has what it brings."
    rows = ["vllm#42006", "vllm#39598", "vllm#45199"]
    assert told == [1, rows, "over", why, "html", 12, [3, 4], "accepted", ["model: x"], 1.9e9, False, 2, "weekly", ["", "done"], 1]  # fmt: skip
