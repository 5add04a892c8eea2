"""Logs and events on the control socket, over real connections: what is followed, and how a stream ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from genesisd.control import messages
from genesisd.control.server import ControlServer
from genesisd.errors import UnavailableError
from tests.fakes.control_api import FakeApi, FixedClock, failed_worker, ready_worker
from tests.helpers.control_socket import eventually, http, server

__all__ = ["http", "server"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker(), failed_worker())


async def test_logs_end_without_follow(http) -> None:
    """The last lines, oldest first."""
    async with http.get("/v1/workers/tiny/logs?lines=2") as answer:
        lines = [messages.LogLine.model_validate_json(line).line async for line in answer.content]
    assert lines == ["line 199", "line 200"]


async def test_logs_follow(http, api) -> None:
    """New lines arrive as they are written, with heartbeats in between."""
    async with http.get("/v1/workers/tiny/logs?lines=0&follow=1") as answer:
        assert await answer.content.readline() == b"\n"
        await api.say("hello \udcff \x1b[31m")
        told = b"\n"
        while told == b"\n":
            told = await answer.content.readline()
        assert json.loads(told)["line"].startswith("hello ")


async def test_events_follow_and_filter(http, api) -> None:
    """A follower gets what happens from now on, of its worker only."""
    api.feed.publish("phase", "tiny", {"n": 0}, 5.0)
    async with http.get("/v1/events?follow=1&worker=tiny") as answer:
        assert await answer.content.readline() == b"\n"
        api.feed.publish("phase", "big", {"n": 1}, 6.0)
        api.feed.publish("phase", "tiny", {"n": 2}, 7.0)
        line = b"\n"
        while line == b"\n":
            line = await answer.content.readline()
        assert messages.EventLine.model_validate_json(line).fields == {"n": 2}


async def test_events_since(http, api) -> None:
    """Kept events from a time on; the stream ends."""
    for at in (5.0, 6.0, 7.0):
        api.feed.publish("phase", "tiny", {"at": at}, at)
    async with http.get("/v1/events?since=6") as answer:
        assert [json.loads(line)["at"] async for line in answer.content] == [6.0, 7.0]


async def test_a_stream_that_breaks_says_why(http, api, monkeypatch) -> None:
    """An error in the middle of a stream is its last line."""

    async def broken(*_args: object, **_kwargs: object) -> AsyncIterator[str]:
        yield "one"
        raise UnavailableError("the shim is gone")

    monkeypatch.setattr(api, "logs", broken)
    async with http.get("/v1/workers/tiny/logs") as answer:
        lines = [json.loads(line) async for line in answer.content]
    assert lines[0]["line"] == "one"
    assert lines[1]["error"]["code"] == "unavailable"


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_five_hundred_vanished_followers_leave_nothing(server, api, path) -> None:
    """Each stream ends when its client goes, also when nothing is ever said."""
    descriptors, tasks = open_descriptors(), len(asyncio.all_tasks())
    for _ in range(10):
        writers = []
        for number in range(50):
            reader, writer = await asyncio.open_unix_connection(str(path))
            what = b"events?follow=1" if number % 2 else b"workers/tiny/logs?lines=0&follow=1"
            writer.write(b"GET /v1/" + what + b" HTTP/1.1\r\nHost: g\r\n\r\n")
            assert b" 200 " in await reader.readline()
            writers.append(writer)
        await eventually(lambda: api.followers == 50)
        for number, writer in enumerate(writers):
            writer.transport.abort() if number % 3 else writer.close()
        await eventually(lambda: api.followers == 0)
    await eventually(lambda: open_descriptors() <= descriptors)
    await eventually(lambda: len(asyncio.all_tasks()) <= tasks)
    assert not server._streams


async def test_a_reader_that_stops_reading_is_dropped(server, api, path, monkeypatch) -> None:
    """A follower that leaves its stream unread holds a bounded amount for a bounded time."""
    monkeypatch.setattr("genesisd.control.streams.STUCK", 0.05)
    api.lines = ["x" * 10_000] * 2_000
    _, writer = await asyncio.open_unix_connection(str(path), limit=1024)
    try:
        writer.transport.pause_reading()
        writer.write(b"GET /v1/workers/tiny/logs?lines=2000&follow=1 HTTP/1.1\r\nHost: g\r\n\r\n")
        await eventually(lambda: api.followers == 1)
        await eventually(lambda: api.followers == 0)
    finally:
        writer.close()


async def test_close_ends_streams(api, path) -> None:
    """A daemon that ends does not wait for its followers."""
    server = ControlServer(api, path, FixedClock())
    await server.start()
    reader, writer = await asyncio.open_unix_connection(str(path))
    writer.write(b"GET /v1/events?follow=1 HTTP/1.1\r\nHost: g\r\n\r\n")
    await eventually(lambda: api.followers == 1)
    async with asyncio.timeout(20):
        await server.close()
        await reader.read()
    assert api.followers == 0
    writer.close()
