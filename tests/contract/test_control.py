"""The control socket, over real connections: what it answers, to whom, and what it survives."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from genesisd.control import listen, messages, patch_messages
from genesisd.control.server import ControlServer
from genesisd.errors import ConfigError, ConflictError, UnavailableError
from tests.fakes.control_api import FakeApi, FixedClock, failed_worker, ready_worker, stopped_worker
from tests.helpers.control_socket import eventually, http, server

__all__ = ["http", "server"]

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")


@pytest.fixture
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # World-searchable, or another uid is stopped by the folder and never meets the socket's own mode.
    folder = tmp_path_factory.mktemp("ctl")
    for each in (folder, *folder.parents):
        if each.owner() == Path("/proc/self").owner() and not each.stat().st_mode & 0o001:
            each.chmod(0o755)
    return folder / "c.sock"


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


# --- the socket file ------------------------------------------------------------------------------------------


async def test_mode_is_0660_and_the_file_goes_away(api, path) -> None:
    """Whatever the umask, the socket is for owner and group; closing removes it and nothing else is left."""
    before = os.umask(0)
    try:
        server = ControlServer(api, path, FixedClock())
        await server.start()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    assert list(path.parent.iterdir()) == [path]
    await server.close()
    assert list(path.parent.iterdir()) == []


async def test_replaces_a_stale_socket(api, path) -> None:
    """A file left by a killed daemon is no obstacle."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
    server = ControlServer(api, path, FixedClock())
    await server.start()
    async with (
        aiohttp.ClientSession("http://g", connector=aiohttp.UnixConnector(str(path))) as http,
        http.get("/v1/version") as answer,
    ):
        assert answer.status == 200
    await server.close()


async def test_refuses_to_take_over_a_live_socket(server, api, path) -> None:
    """A second daemon is told so, and the first keeps its socket, also when the second is closed."""
    second = ControlServer(api, path, FixedClock())
    with pytest.raises(ConflictError, match="already listens"):
        await second.start()
    await second.close()
    assert path.exists()


def test_refuses_a_busy_live_socket(path) -> None:
    """A daemon whose backlog is full is live, not stale."""
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        waiting: list[socket.socket] = []
        try:
            for _ in range(50):
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                waiting.append(client)
                if client.connect_ex(str(path)) == errno.EAGAIN:
                    break
            with pytest.raises(ConflictError):
                listen.listen(path)
        finally:
            for client in waiting:
                client.close()


def test_refuses_what_is_no_socket(path) -> None:
    """A file of somebody's is not removed."""
    path.write_text("precious")
    with pytest.raises(ConflictError, match="is no socket"):
        listen.listen(path)
    assert path.read_text() == "precious"


@pytest.mark.parametrize("bad", ["x" * 100 + "/y.sock", "missing/c.sock"])
def test_a_path_that_cannot_be(path, bad) -> None:
    """A path too long, or in a missing folder, is a configuration error with a hint."""
    with pytest.raises(ConfigError) as caught:
        listen.listen(path.parent / bad)
    assert caught.value.hint


def test_an_unknown_group(api, path) -> None:
    """A group that does not exist is named."""
    with pytest.raises(ConfigError, match="no-such-group"):
        ControlServer(api, path, FixedClock(), group="no-such-group")


async def test_close_leaves_a_successors_socket(server, path) -> None:
    """A daemon that ends late does not remove the socket of the one that replaced it."""
    path.unlink()
    listener = listen.listen(path)
    await server.close()
    assert path.exists()
    listener.close()


# --- peers ----------------------------------------------------------------------------------------------------


async def ask_as(path: Path, uid: int, gid: int, groups: list[int]) -> bytes:
    """The first line of the answer to a child with these ids, or the name of the error that met it."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups(groups)
            os.setgid(gid)
            os.setuid(uid)
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(20)
                client.connect(str(path))
                client.sendall(b"GET /v1/version HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
                os.write(write, client.recv(4096))
        except OSError as problem:
            os.write(write, errno.errorcode[problem.errno or 0].encode())
        finally:
            os._exit(0)
    os.close(write)
    try:
        await asyncio.to_thread(os.waitpid, child, 0)
        return os.read(read, 4096).split(b"\r\n")[0]
    finally:
        os.close(read)


@root_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize(
    ("uid", "gid", "groups", "expected"),
    [
        pytest.param(4001, 4001, [], b"HTTP/1.1 403 Forbidden", id="stranger"),
        pytest.param(4001, 4001, [4003], b"HTTP/1.1 403 Forbidden", id="other-group"),
        pytest.param(4001, 4002, [], b"HTTP/1.1 200 OK", id="primary-group"),
        pytest.param(4001, 4001, [4003, 4002], b"HTTP/1.1 200 OK", id="supplementary-group"),
        pytest.param(0, 0, [], b"HTTP/1.1 200 OK", id="root"),
    ],
)
async def test_who_may_ask(api, path, uid, gid, groups, expected) -> None:
    """Root, the daemon's user and members of the group may; the check holds even if the file mode is loosened."""
    server = ControlServer(api, path, FixedClock(), group="4002")
    await server.start()
    try:
        assert path.stat().st_gid == 4002
        path.chmod(0o666)
        assert await ask_as(path, uid, gid, groups) == expected
    finally:
        await server.close()


@root_only
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
async def test_the_file_mode_keeps_strangers_out(server, path) -> None:
    """Another user cannot even connect."""
    assert await ask_as(path, 4001, 4001, []) == b"EACCES"


# --- abuse ----------------------------------------------------------------------------------------------------


async def send_junk(path: Path, head: bytes, size: int) -> bytes:
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(head)
        for _ in range(size >> 16):
            writer.write(b"A" * (1 << 16))
            await writer.drain()
    except ConnectionError:
        pass
    try:
        async with asyncio.timeout(20):
            return await reader.read(1 << 16)
    except ConnectionError:
        return b""
    finally:
        writer.close()


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"", b"400"),
        (b"GET /v1/status HTTP/1.1\r\nX: ", b"400"),
        (b"POST /v1/config/check HTTP/1.1\r\nHost: g\r\nContent-Length: 10485760\r\n\r\n", b"413"),
        (b"POST /v1/reload HTTP/1.1\r\nHost: g\r\nContent-Length: 10485760\r\n\r\n", b"200"),
    ],
)
async def test_ten_megabytes_of_junk(server, http, path, head, expected) -> None:
    """Junk is refused, or ignored where no body is read, without being kept; others are served."""
    answer = await send_junk(path, head, 10 << 20)
    assert not answer or expected in answer.split(b"\r\n")[0]
    async with http.get("/v1/version") as fine:
        assert fine.status == 200


async def test_slow_clients_do_not_block_others(server, http, path) -> None:
    """Fifty clients that never finish their requests cost the others nothing."""
    slow = [await asyncio.open_unix_connection(str(path)) for _ in range(50)]
    try:
        for number, (_, writer) in enumerate(slow):
            writer.write(b"POST /v1/reload HTTP/1.1\r\nContent-Length: 10\r\n\r\nx" if number % 2 else b"GET /v1/st")
        async with asyncio.timeout(20):
            for _ in range(20):
                async with http.get("/v1/status") as answer:
                    assert answer.status == 200
    finally:
        for _, writer in slow:
            writer.close()


async def test_a_body_that_never_comes_is_a_timeout(api, path) -> None:
    """The deadline covers the body."""
    server = ControlServer(api, path, FixedClock(), deadline=0.05)
    await server.start()
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        writer.write(b"POST /v1/config/check HTTP/1.1\r\nHost: g\r\nContent-Length: 10\r\n\r\n{")
        async with asyncio.timeout(20):
            assert b" 504 " in await reader.readline()
    finally:
        writer.close()
        await server.close()


# --- streams --------------------------------------------------------------------------------------------------


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
