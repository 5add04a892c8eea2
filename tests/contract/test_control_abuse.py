"""What clients of the control socket may do to it that harms nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from genesisd.control.server import ControlServer
from tests.fakes.control_api import FakeApi, FixedClock, ready_worker
from tests.helpers.control_socket import http, server

__all__ = ["http", "server"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "c.sock"


@pytest.fixture
def api() -> FakeApi:
    return FakeApi(ready_worker())


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
