"""A control server at a socket's path, for tests that have the fixtures ``api`` and ``path``."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import aiohttp
import pytest_asyncio

from genesisd.control.server import ControlServer
from tests.fakes.control_api import FakeApi, FixedClock


@pytest_asyncio.fixture
async def server(api: FakeApi, path: Path) -> AsyncIterator[ControlServer]:
    server = ControlServer(api, path, FixedClock(), watch=api.watch, heartbeat=0.05)
    await server.start()
    yield server
    await server.close()


@pytest_asyncio.fixture
async def http(server: ControlServer, path: Path) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession("http://genesisd", connector=aiohttp.UnixConnector(str(path))) as session:
        yield session


async def eventually(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not happen in time"
        await asyncio.sleep(0.01)
