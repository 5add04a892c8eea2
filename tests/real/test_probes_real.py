"""Probes against the real vLLM: no false alarm over a long prefill, and a stopped engine found in time."""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.probes.http_client import open_session
from genesisd.probes.loop import Watch
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target
from genesisd.probes.spec import ProbesSpec, ProcessProbe, ProgressProbe
from tests.helpers.fake import cmdline, until
from tests.helpers.listening import Ear
from tests.real.serving import Server, session

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]
MODEL = Path(__file__).parents[2] / "genesisd" / "demo" / "tiny"
LENGTH = 16384
BURSTS = 40
"""Into how many a throttled prefill is cut, whatever the machine needs for one that is not."""
PAUSES = (1.0, 2.0, 4.0)
"""Seconds between two bursts, tried in turn; each well below the window in which something must move."""
DETECTION = 15.0
"""Seconds in which a stopped engine must be found at default settings."""
SLACK = 15.0
"""Seconds that a loaded machine may add."""


@pytest.fixture(scope="module")
def server(serve: Callable[..., AbstractContextManager[Server]]) -> Iterator[Server]:
    """One server for all, with chunks as small as a KV block so that a prefill takes long."""
    flags = ("--max-model-len", str(LENGTH), "--max-num-batched-tokens", "128", "--enable-server-load-tracking")
    with serve(MODEL, flags, {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}) as one:
        yield one


def member(server: Server, role: str) -> int:
    return next(pid for pid in session(server.process.pid) if cmdline(pid).endswith(f"::{role}"))


@contextlib.asynccontextmanager
async def watching(server: Server, spec: ProbesSpec) -> AsyncIterator[Ear]:
    target = Target(
        "w",
        1,
        server.process.pid,
        "127.0.0.1",
        server.port,
        members=lambda: session(server.process.pid),
        log_path=server.log,
    )
    ear = Ear()
    async with open_session() as http:
        watch = Watch(target, spec, ear, http)
        watch.start()
        try:
            yield ear
            assert watch.errors == 0
        finally:
            await watch.close()


async def test_ready_at_defaults(server: Server) -> None:
    """Every default probe is content with an idle server."""
    async with watching(server, ProbesSpec()) as ear:
        await ear.hears("ready", True, seconds=120)
        await ear.asks("progress", 15)
        assert [one[0] for one in ear.said] == ["started", "ready"]


async def test_long_prefill_is_left_alone(server: Server) -> None:
    """A lone chunked prefill of several windows, its worker throttled, is not taken for a hang."""
    worker, enough = member(server, "Worker"), 2 * ProgressProbe().window
    async with watching(server, ProbesSpec(liveness=(ProgressProbe(),))) as ear:
        await ear.hears("ready", True, seconds=120)
        alone = min([await prefill(server, turn) for turn in range(2)])  # the first may compile something
        lasted = 0.0
        # Where the cores are busy a burst is longer than asked for, and there are fewer of them: then longer pauses.
        for turn, rest in enumerate(PAUSES, start=2):
            async with throttled(worker, alone / BURSTS, rest):
                lasted = await prefill(server, turn)
            if lasted > enough:
                break
        print(f"a prefill of {alone:.2f} s lasted {lasted:.1f} s with pauses of {rest:g} s")
        assert lasted > enough
        assert not ear.heard("dead")
        assert [one for one in ear.said if one[:2] == ("ready", False)] == []
        assert Verdict.FAILURE not in {one.verdict for one in ear.of("progress")}


async def prefill(server: Server, turn: int) -> float:
    """Seconds for a prompt as long as the model takes. No two turns begin alike, so that none is found in the cache."""
    body: dict[str, Any] = {
        "model": "tiny",
        "prompt": [5 + (i + turn) % 200 for i in range(LENGTH - 64)],
        "max_tokens": 1,
    }
    begun = time.monotonic()
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=600)) as http,
        http.post(f"{server.url}/v1/completions", json=body) as answer,
    ):
        assert answer.status == 200, await answer.text()
        await answer.read()
    return time.monotonic() - begun


@contextlib.asynccontextmanager
async def throttled(pid: int, run: float, rest: float) -> AsyncIterator[None]:
    """Let a process run in bursts of ``run`` seconds, with pauses of ``rest``."""

    async def brake() -> None:
        while True:
            os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(rest)
            os.kill(pid, signal.SIGCONT)
            await asyncio.sleep(run)

    task = asyncio.create_task(brake())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
        os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    ("role", "spec", "kind"),
    [
        ("EngineCore", ProbesSpec(liveness=(ProgressProbe(),)), "progress"),
        ("Worker", ProbesSpec(liveness=(ProgressProbe(),)), "progress"),
        ("EngineCore", ProbesSpec(liveness=(ProcessProbe(),)), "process"),
    ],
)
async def test_stopped_engine_is_found(server: Server, role: str, spec: ProbesSpec, kind: str) -> None:
    """SIGSTOP of an idle engine while /health says 200 is found within the budget, by either probe alone."""
    pid = member(server, role)
    async with watching(server, spec) as ear:
        await ear.hears("ready", True, seconds=120)
        os.kill(pid, signal.SIGSTOP)
        begun = time.monotonic()
        try:
            summary = (await ear.hears("dead", seconds=120))[1]
            seconds = time.monotonic() - begun
            assert "200" in str(until(lambda: health(server)))
        finally:
            os.kill(pid, signal.SIGCONT)
        print(f"{role} stopped, found by {kind} after {seconds:.1f} s: {summary}")
        assert summary.startswith(kind)
        assert seconds <= DETECTION + SLACK


def health(server: Server) -> int:
    import urllib.request

    with urllib.request.urlopen(f"{server.url}/health", timeout=60) as answer:
        return answer.status
