"""The front between raw clients and raw engines that misbehave."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import random
import socket
import struct

import pytest
import uvloop

from genesisd.front.client import ClientConnection
from genesisd.front.decide import Closed, Held, Limits, Open
from genesisd.front.switchboard import Switchboard, Timeouts
from tests.helpers.raw_engine import RawEngine, answer

GET = b"GET /%s HTTP/1.1\r\nHost: x\r\n\r\n"
RESET = struct.pack("ii", 1, 0)


_DEFAULT = Timeouts()


def on_uvloop(test):
    """Run on the loop that the front runs on: its transports differ from asyncio's in what an abort does."""

    @functools.wraps(test)
    def run(**given):
        uvloop.run(asyncio.wait_for(test(**given), 90))

    return run


class Stand:
    """A front in this process."""

    def __init__(self, *, hold=5.0, max_held=8, timeouts=_DEFAULT, capacity=5000):
        self.board = Switchboard(Limits(hold, max_held), timeouts, capacity)

    async def __aenter__(self):
        loop = asyncio.get_running_loop()
        self.server = await loop.create_server(lambda: ClientConnection(self.board), "127.0.0.1", 0, backlog=1024)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_):
        self.server.close()
        for connection in list(self.board.connections):
            connection.cut()
        await until(lambda: not self.board.connections)

    def open(self, engine, incarnation=1):
        self.board.point(Open("127.0.0.1", engine.port, incarnation))

    def stats(self):
        return self.board.stats(asyncio.get_running_loop().time())

    @contextlib.asynccontextmanager
    async def client(self):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 22)
        try:
            yield Client(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


class Client:
    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    def send(self, data):
        self.writer.write(data)

    async def head(self):
        return await asyncio.wait_for(self.reader.readuntil(b"\r\n\r\n"), 20)

    async def answer(self):
        """Status and body of one counted answer."""
        head = await self.head()
        size = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        return int(head.split(b" ")[1]), await asyncio.wait_for(self.reader.readexactly(size), 20)

    async def ask(self, path=b""):
        self.send(GET % path)
        return await self.answer()

    async def rest(self):
        return await asyncio.wait_for(self.reader.read(), 20)

    def reset(self):
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.writer.transport.abort()


async def until(condition, seconds=60.0):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


# --- what passes -----------------------------------------------------------------------------------------------


@on_uvloop
async def test_keep_alive_uses_one_connection():
    """Requests of one client travel over one connection to the engine."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        for _ in range(5):
            assert await client.ask(b"x") == (200, b"a /x 0")
        assert engine.connections == 1
        assert stand.stats().answered == 5


@on_uvloop
async def test_pipelined_requests_are_answered_in_order():
    """Requests sent at once are passed one by one and answered in order."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"".join(GET % b"%d" % n for n in range(20)))
        assert [(await client.answer())[1] for _ in range(20)] == [b"a /%d 0" % n for n in range(20)]


@on_uvloop
async def test_pipelined_then_half_closed():
    """A client that sends everything and closes its sending side gets every answer."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"".join(GET % b"%d" % n for n in range(3)))
        client.writer.write_eof()
        assert (await client.rest()).count(b"200 OK") == 3


@pytest.mark.parametrize("size", [0, 1, 70_000, 20_000_000])
@on_uvloop
async def test_counted_bodies_of_any_size(size):
    """A counted body arrives whole, whatever its size."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size + b"\n" * size)
        assert await client.answer() == (200, b"a /x %d" % size)


@on_uvloop
async def test_chunked_body_with_trailers_then_next_request():
    """A chunked body with trailers ends where it ends, and the next request follows."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        head = b"POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        client.send(head + b"3\r\na\nb\r\n" * 1000 + b"0\r\nT: 1\r\n\r\n" + GET % b"next")
        assert await client.answer() == (200, b"a /c 3000")
        assert await client.answer() == (200, b"a /next 0")


@on_uvloop
async def test_expect_continue():
    """100 Continue passes before the body is sent, and is not taken for the answer."""

    async def behave(engine, request, reader, writer):
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        writer.write(answer(await reader.readexactly(4)))

    async with RawEngine(behave, read_body=False) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert b"100" in await client.head()
        assert (stand.stats().in_flight, stand.stats().unanswered) == (1, 0)
        client.send(b"body")
        assert await client.answer() == (200, b"body")


@on_uvloop
async def test_head_request():
    """The answer to a HEAD has a length and no body; the connection goes on."""

    async def behave(engine, request, _reader, writer):
        writer.write(answer(b"12345").removesuffix(b"12345") if request.head.startswith(b"HEAD") else answer(b"12345"))

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b"Content-Length: 5" in await client.head()
        assert await client.ask() == (200, b"12345")


@on_uvloop
async def test_upgrade_becomes_a_tunnel():
    """After 101 plain bytes flow both ways, and count as one request in flight."""

    async def behave(engine, request, reader, writer):
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nhi ")
        while data := await reader.read(100):
            writer.write(data.upper())

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly")
        assert b"101" in await client.head()
        assert await client.reader.readexactly(8) == b"hi EARLY"
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert await client.reader.readexactly(18) == b"GET / HTTP/1.1\r\n\r\n"
        assert (stand.stats().in_flight, stand.stats().unanswered) == (1, 0)
        client.writer.close()
        await until(lambda: stand.stats().in_flight == 0)


@on_uvloop
async def test_stream_passes_as_it_comes():
    """Each event of a stream reaches the client before the next is made."""

    async def behave(engine, request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in range(5):
            writer.write(b"3\r\none\r\n")
            await engine.release.wait()
            engine.release.clear()
        writer.write(b"0\r\n\r\n")

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        await client.head()
        for _ in range(5):
            assert await asyncio.wait_for(client.reader.readexactly(8), 20) == b"3\r\none\r\n"
            engine.release.set()
        assert await client.reader.readexactly(5) == b"0\r\n\r\n"
        await until(lambda: stand.stats().in_flight == 0)
        assert engine.connections == 1


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
@on_uvloop
async def test_answer_until_eof(version):
    """An answer that only the connection's end delimits is passed to its end."""

    async def behave(engine, request, _reader, writer):
        writer.write(b"HTTP/" + version + b" 200 OK\r\n\r\nhello")
        writer.close()

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        assert (await client.rest()).endswith(b"\r\n\r\nhello")
        assert stand.stats().answered == 1


@on_uvloop
async def test_http_1_0_client_is_closed_after_its_answer():
    """A client without keep-alive sees the end."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"GET /old HTTP/1.0\r\n\r\n")
        assert (await client.rest()).endswith(b"a /old 0")


@on_uvloop
async def test_connection_close_from_the_engine_reaches_the_client():
    """An answer that announces the end of the connection is followed by it."""

    async def behave(engine, request, _reader, writer):
        writer.write(answer(b"bye", b"200 OK", b"Connection: close"))

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        assert (await client.rest()).endswith(b"bye")


@on_uvloop
async def test_early_answer_and_the_body_goes_on():
    """An engine may answer before the body ended; when it reads the rest, the connection goes on."""

    async def behave(engine, request, reader, writer):
        if request.head.startswith(b"POST"):
            writer.write(answer(b"early", b"413 Too Large"))
            await reader.readexactly(8)
        else:
            writer.write(answer(b"next"))

    async with RawEngine(behave, read_body=False) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 8\r\n\r\n1234")
        assert await client.answer() == (413, b"early")
        client.send(b"5678" + GET % b"")
        assert await client.answer() == (200, b"next")
        assert stand.stats().answered == 2


@on_uvloop
async def test_early_answer_and_the_engine_hangs_up():
    """The client reads an early answer in full though it was still sending to an engine that has gone."""

    async def behave(engine, request, _reader, writer):
        writer.write(answer(b"early", b"413 Too Large", b"Connection: close"))
        writer.close()

    async with RawEngine(behave, read_body=False) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3000000\r\n\r\n")
        assert await client.answer() == (413, b"early")
        with contextlib.suppress(OSError):
            client.send(b"x" * 3_000_000)
            await client.writer.drain()
        await until(lambda: stand.stats().in_flight == 0)


# --- back-pressure ---------------------------------------------------------------------------------------------


@on_uvloop
async def test_slow_reader_stops_the_engine():
    """An engine that streams faster than its client reads is stopped, not buffered."""
    sent = 0

    async def behave(engine, request, reader, writer):
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 200000000\r\n\r\n")
        block = b"x" * 100_000
        for _ in range(2000):
            writer.write(block)
            await writer.drain()
            sent += len(block)

    async with RawEngine(behave) as engine, Stand() as stand:
        stand.open(engine)
        reader, writer = await asyncio.open_connection("127.0.0.1", stand.port, limit=1000)
        writer.write(GET % b"")
        await reader.readuntil(b"\r\n\r\n")
        last = -1
        while sent != last:
            last = sent
            await asyncio.sleep(0.2)
        assert sent < 60_000_000
        total = 0
        while total < 200_000_000:
            total += len(await asyncio.wait_for(reader.read(1 << 20), 20))
        assert total == 200_000_000
        writer.close()


@on_uvloop
async def test_slow_engine_stops_the_client():
    """A client that uploads faster than the engine reads is stopped, and counted as unanswered."""

    async def behave(engine, request, reader, writer):
        await engine.release.wait()
        left = 100_000_000
        while left:
            left -= len(await reader.read(1 << 20))
        writer.write(answer(b"all"))

    async with RawEngine(behave, read_body=False) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n")
        client.send(b"x" * 100_000_000)
        await until(lambda: stand.stats().unanswered == 1)
        assert client.writer.transport.get_write_buffer_size() > 30_000_000
        engine.release.set()
        assert await client.answer() == (200, b"all")


# --- losses ----------------------------------------------------------------------------------------------------


@on_uvloop
async def test_lost_before_the_answer_is_502_and_not_repeated():
    """A request that was sent and lost is answered 502 and reaches no engine a second time."""

    async def behave(engine, request, _reader, writer):
        writer.close()

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        status, body = await client.ask()
        assert (status, json.loads(body)["error"]["type"]) == (502, "worker_lost")
        assert len(engine.requests) == 1
        assert await client.ask() == (502, body)


@pytest.mark.parametrize(
    "part",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\none",
        b"HTTP/1.1 200 OK\r\nContent-Le",
    ],
)
@on_uvloop
async def test_lost_in_the_answer_is_cut_short(part):
    """A stream that breaks never ends as if it were whole, and nothing is added to it."""

    async def behave(engine, request, _reader, writer):
        writer.write(part)
        await writer.drain()
        writer.close()

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        assert await client.rest() == part
        assert stand.stats().answered == 0


@on_uvloop
async def test_reset_of_an_answer_until_eof_is_a_reset():
    """Where an orderly end would look complete, the client sees a reset."""

    async def behave(engine, request, reader, writer):
        writer.write(b"HTTP/1.1 200 OK\r\n\r\npart")
        await engine.release.wait()
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.transport.abort()

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        await client.head()
        assert await client.reader.readexactly(4) == b"part"
        engine.release.set()
        with pytest.raises(ConnectionResetError):
            await client.rest()


@on_uvloop
async def test_garbage_from_the_engine_is_502():
    """An engine that does not speak HTTP is named as such."""

    async def behave(engine, request, _reader, writer):
        writer.write(b"SSH-2.0-OpenSSH_9.9\r\n")

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        status, body = await client.ask()
        assert (status, json.loads(body)["error"]["type"]) == (502, "worker_garbled")


@pytest.mark.parametrize("how", ["close", "reset"])
@pytest.mark.parametrize("when", ["before", "during"])
@on_uvloop
async def test_client_abort_reaches_the_engine(how, when):
    """A client that goes away ends the engine's connection at once, before or during the answer."""

    async def behave(engine, request, reader, writer):
        if when == "during":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
        if not await reader.read(1):
            raise ConnectionResetError

    async with RawEngine(behave) as engine, Stand() as stand:
        stand.open(engine)
        async with stand.client() as client:
            client.send(GET % b"")
            await until(lambda: stand.stats().in_flight == 1)
            if when == "during":
                await client.head()
            client.reset() if how == "reset" else client.writer.close()
            await asyncio.wait_for(engine.aborted.wait(), 20)
        await until(lambda: stand.stats().open == 0)
        assert stand.stats().in_flight == 0


@on_uvloop
async def test_half_closed_client_gets_its_answer():
    """An engine that answers a half-closed client is heard."""

    async def behave(engine, request, reader, writer):
        assert await reader.read(1) == b""
        writer.write(answer(b"late"))

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(GET % b"")
        client.writer.write_eof()
        assert (await client.rest()).endswith(b"late")


# --- holding and switching -------------------------------------------------------------------------------------


@on_uvloop
async def test_held_requests_are_answered_once_open():
    """Requests that came while no worker was there are answered by the one that comes."""
    async with RawEngine() as engine, Stand() as stand, contextlib.AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(stand.client()) for _ in range(8)]
        for client in clients:
            client.send(b"POST /h HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + b"x" * 100_000)
        await until(lambda: stand.stats().held == 8)
        assert (stand.stats().in_flight, stand.stats().unanswered) == (0, 0)
        stand.open(engine)
        assert [await client.answer() for client in clients] == [(200, b"a /h 100000")] * 8
        assert stand.stats().held == 0


@on_uvloop
async def test_hold_ends_in_503_with_retry_after():
    """A request that waited too long gets a 503 that an OpenAI client can show, and may try again."""
    async with Stand(hold=0.2) as stand, stand.client() as client:
        for _ in range(2):
            client.send(GET % b"")
            head = await client.head()
            assert b" 503 " in head
            assert b"Retry-After: 1\r\n" in head
            size = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            error = json.loads(await client.reader.readexactly(size))["error"]
            assert (error["code"], error["type"]) == (503, "worker_unavailable")
        assert (stand.stats().refused, stand.stats().held) == (2, 0)


@on_uvloop
async def test_no_more_than_max_held():
    """One request too many is refused at once; the others go on waiting."""
    async with RawEngine() as engine, Stand(max_held=1) as stand, stand.client() as one, stand.client() as two:
        one.send(GET % b"one")
        await until(lambda: stand.stats().held == 1)
        status, body = await two.ask()
        assert (status, json.loads(body)["error"]["type"]) == (503, "too_many_waiting")
        stand.open(engine)
        assert await one.answer() == (200, b"a /one 0")


@on_uvloop
async def test_large_body_of_a_held_request_is_not_read():
    """A held request's body stays with the client beyond a small buffer."""
    async with Stand() as stand, stand.client() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000000\r\n\r\n" + b"x" * 50_000_000)
        await until(lambda: stand.stats().held == 1)
        await asyncio.sleep(0.2)
        assert client.writer.transport.get_write_buffer_size() > 30_000_000


@on_uvloop
async def test_refusal_of_a_large_upload_can_be_read():
    """A refused client that is still sending reads the refusal before the connection ends."""
    async with Stand() as stand, stand.client() as client:
        stand.board.point(Closed("stopped by the operator"))
        client.send(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n" + b"x" * 5_000_000)
        status, body = await client.answer()
        assert (status, json.loads(body)["error"]["message"]) == (503, "stopped by the operator")


@on_uvloop
async def test_closing_refuses_the_held():
    """Requests that wait are refused as soon as it is known that no worker comes."""
    async with Stand(hold=60) as stand, stand.client() as client:
        client.send(GET % b"")
        await until(lambda: stand.stats().held == 1)
        stand.board.point(Closed("failed"))
        assert (await client.answer())[0] == 503


@on_uvloop
async def test_refused_connection_is_retried():
    """A request meets an engine that is not listening yet, and is answered once it does."""
    async with RawEngine() as probe:
        port = probe.port
    async with Stand() as stand, stand.client() as client:
        stand.board.point(Open("127.0.0.1", port, 1))
        client.send(GET % b"r")
        await until(lambda: stand.stats().held == 1)
        async with RawEngine(port=port):
            assert await client.answer() == (200, b"a /r 0")


@on_uvloop
async def test_gone_client_is_not_held():
    """A client that gives up while it waits frees its place and never reaches the engine."""
    async with RawEngine() as engine, Stand() as stand:
        async with stand.client() as client:
            client.send(GET % b"")
            await until(lambda: stand.stats().held == 1)
        await until(lambda: stand.stats().held == 0)
        stand.open(engine)
        async with stand.client() as client:
            await client.ask(b"only")
        assert [request.path for request in engine.requests] == [b"/only"]


@on_uvloop
async def test_a_held_request_is_gone_with_its_connection():
    """At no instant does a request count as held whose connection is not open any more."""
    loop = asyncio.get_running_loop()
    seen = []

    def look():  # at every turn of the loop, between whatever else runs in it
        stats = stand.stats()
        seen.append((stats.open, stats.held))
        looking[0] = loop.call_soon(look)

    async with Stand() as stand:
        looking = [loop.call_soon(look)]
        async with stand.client() as client:
            client.send(GET % b"")
            await until(lambda: stand.stats().held == 1)
            client.reset()
        await until(lambda: seen[-1] == (0, 0))
        looking[0].cancel()
    assert set(seen) == {(0, 0), (1, 0), (1, 1)}


@on_uvloop
async def test_switch_moves_kept_alive_clients_and_leaves_streams():
    """After a switch old streams end on the old worker and every next request goes to the new one."""

    async def behave(engine, request, reader, writer):
        if request.path == b"/s":
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            await engine.release.wait()
            writer.write(b"3\r\nend\r\n0\r\n\r\n")
        else:
            writer.write(answer(engine.name))

    async with contextlib.AsyncExitStack() as stack:
        old = await stack.enter_async_context(RawEngine(behave))
        new = await stack.enter_async_context(RawEngine(behave, b"b"))
        stand = await stack.enter_async_context(Stand())
        streaming = await stack.enter_async_context(stand.client())
        idle = await stack.enter_async_context(stand.client())
        stand.open(old, 1)
        streaming.send(GET % b"s")
        await streaming.head()
        assert await idle.ask() == (200, b"a")
        stand.open(new, 2)
        assert stand.board.by_incarnation() == {1: 1}
        await until(lambda: old.living == 1)
        assert await idle.ask() == (200, b"b")
        old.release.set()
        assert await streaming.reader.readexactly(13) == b"3\r\nend\r\n0\r\n\r\n"
        assert await streaming.ask() == (200, b"b")


@on_uvloop
async def test_engine_that_closes_idle_connections():
    """A kept-alive client does not notice that the engine ended its idle connection."""

    async def behave(engine, request, _reader, writer):
        writer.write(answer())
        await writer.drain()
        writer.close()

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        for _ in range(3):
            assert await client.ask() == (200, b"ok")
            await until(lambda: engine.living == 0)
            for _ in range(5):  # turns of the loop, in which the front hears of it; one long pause may be a single turn
                await asyncio.sleep(0.01)


# --- hostile clients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b"\x16\x03\x01\x02\x00\x01\n", 400),
        (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400),
        (b"GET / HTTP/1.1\r\nX: " + b"y" * 70_000, 431),
    ],
)
@on_uvloop
async def test_malformed_request(raw, status):
    """What is not HTTP/1.1 is answered so, and the connection ends."""
    async with RawEngine() as engine, Stand() as stand, stand.client() as client:
        stand.open(engine)
        client.send(raw)
        assert (await client.answer())[0] == status
        assert await client.rest() == b""
        assert stand.stats().in_flight == 0


@on_uvloop
async def test_slow_headers_are_bounded():
    """A client that never ends its headers is told so and let go."""
    async with Stand(timeouts=Timeouts(head=0.1, linger=0.1)) as stand, stand.client() as client:
        client.send(b"GET / HTTP/1.1\r\n")
        await until(lambda: stand.stats().open == 1)
        await asyncio.sleep(0.2)
        stand.board.tick(asyncio.get_running_loop().time())
        assert (await client.answer())[0] == 408
        await asyncio.sleep(0.2)
        stand.board.tick(asyncio.get_running_loop().time())
        await until(lambda: stand.stats().open == 0)


@pytest.mark.parametrize("closed", [True, False])
@on_uvloop
async def test_client_that_reads_no_answer_is_not_read(closed):
    """A client that pipelines without end and reads nothing fills its own buffers, not the front's."""
    async with RawEngine(lambda *a: _big(a[3])) as engine, Stand() as stand, stand.client() as client:
        stand.board.point(Closed("x" * 100_000)) if closed else stand.open(engine)
        client.reader._transport.pause_reading()
        client.send(GET % (b"x" * 1000) * 20_000)
        await until(lambda: stand.stats().refused + stand.stats().answered > 0)
        last = -1
        while stand.stats().refused + stand.stats().answered != last:
            last = stand.stats().refused + stand.stats().answered
            await asyncio.sleep(0.3)
        client.reset()
        assert 0 < last < 1000


async def _big(writer):
    writer.write(answer(b"x" * 100_000))


@on_uvloop
async def test_more_connections_than_descriptors():
    """Beyond its capacity the front says so instead of running out of descriptors."""
    async with Stand(capacity=1) as stand, stand.client() as first:
        first.send(b"GET")
        await until(lambda: stand.stats().open == 1)
        async with stand.client() as second:
            assert (await second.answer())[0] == 503


@on_uvloop
async def test_leaving_finishes_what_flows():
    """A front that ends lets an answer finish, then closes; idle clients are closed at once."""

    async def behave(engine, request, reader, writer):
        await engine.release.wait()
        writer.write(answer())

    async with RawEngine(behave) as engine, Stand() as stand, stand.client() as busy, stand.client() as idle:
        stand.open(engine)
        busy.send(GET % b"")
        await until(lambda: stand.stats().unanswered == 1)
        stand.board.leave()
        assert await idle.rest() == b""
        engine.release.set()
        assert await busy.answer() == (200, b"ok")
        assert await busy.rest() == b""


@pytest.mark.parametrize("seed", range(3))
@on_uvloop
async def test_counts_return_to_zero(seed):
    """Whatever is aborted, by whomever and when, nothing stays counted."""
    rng = random.Random(seed)

    async def behave(engine, request, reader, writer):
        match rng.randrange(6):
            case 0:
                writer.write(answer())
            case 1:
                writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
                await asyncio.sleep(rng.random() * 0.02)
                writer.write(b"0\r\n\r\n")
            case 2:
                writer.write(answer()[: rng.randrange(60)])
                await writer.drain()
                writer.close()
            case 3:
                await asyncio.sleep(rng.random() * 0.02)
                writer.transport.abort()
            case 4:
                writer.write(answer() + b"surplus")
            case 5:
                writer.write(b"garbage\r\n\r\n")

    async def one(stand):
        raw = rng.choice(
            [
                GET % b"",
                GET % b"" + GET % b"",
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000,
                b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
                b"nonsense\r\n\r\n",
            ]
        )
        async with stand.client() as client:
            with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError):
                client.send(raw if rng.random() < 0.6 else raw[: rng.randrange(1, len(raw))])
                if rng.random() < 0.3:
                    client.writer.write_eof()
                await asyncio.wait_for(client.reader.read(100), rng.random() * 0.05)
                if rng.random() < 0.5:
                    client.reset()

    async with RawEngine(behave) as one_engine, RawEngine(behave) as other, Stand(hold=0.05, max_held=20) as stand:
        stop = asyncio.Event()

        async def switch():
            while not stop.is_set():
                rng.choice(
                    [lambda: stand.open(one_engine, 1), lambda: stand.open(other, 2), lambda: stand.board.point(Held())]
                )()
                await asyncio.sleep(0.01)

        switching = asyncio.create_task(switch())
        for _ in range(15):
            await asyncio.gather(*(one(stand) for _ in range(20)))
        stop.set()
        await switching
        await until(lambda: stand.stats().open == 0)
        stats = stand.stats()
        assert (stats.in_flight, stats.unanswered, stats.held, stats.oldest_unanswered) == (0, 0, 0, 0.0)
        assert not stand.board.waiting
        await until(lambda: one_engine.living == other.living == 0)
