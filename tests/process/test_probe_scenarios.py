"""The published ways in which an engine dies, hangs or only seems to, on the fake and with shortened windows."""

import asyncio
import contextlib
import os
import resource
import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.probes.http_client import open_session
from genesisd.probes.loop import Watch
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Target, Traffic
from genesisd.probes.spec import GenerationProbe, HttpProbe, PortOwnerProbe, ProbesSpec, ProcessProbe, ProgressProbe
from tests.helpers.fake import Fake, cmdline, running
from tests.helpers.listening import Ear
from tests.helpers.ports import free_port

pytestmark = pytest.mark.process

PROGRESS = ProgressProbe(period=0.1, window=1.0, warmup=1.0, canary_period=0.15, timeout=2)
GENERATION = GenerationProbe(period=0.2, timeout=2.0, failures=2)
FAST = ProbesSpec(
    startup=(HttpProbe(period=0.05, timeout=2, failures=1),),
    readiness=(PortOwnerProbe(period=0.2), GENERATION),
    liveness=(ProcessProbe(period=0.1), PROGRESS),
)
CALM = ProbesSpec(
    startup=FAST.startup,
    readiness=(PortOwnerProbe(period=0.2), GenerationProbe(period=0.2, timeout=4.0, failures=2)),
    liveness=(
        ProcessProbe(period=0.1),
        ProgressProbe(period=0.1, window=6.0, warmup=6.0, canary_period=0.15, timeout=15),
    ),
)
"""For what must not be blamed: a fake that stands still for want of a core, which is nobody's fault, fits into it."""
WINDOWS = 130
"""Asks for progress that take more than two windows of ``CALM``."""
BLIND = FAST.model_copy(update={"liveness": (PROGRESS,)})
"""Without the process probe, which would see a stopped process before progress does."""


@pytest.fixture
def fake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fake]:
    with running(tmp_path, *getattr(request, "param", ())) as one:
        yield one


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


def target(fake: Fake, **more: Any) -> Target:
    known = {"worker": "w", "incarnation": 1, "leader": fake.pid, "host": fake.host, "port": fake.port}
    return Target(**(known | {"members": fake.members} | more))


@contextlib.asynccontextmanager
async def watching(
    fake: Fake, session: aiohttp.ClientSession, spec: ProbesSpec, blind: bool = False, **more: Any
) -> AsyncIterator[Ear]:
    ear = Ear()
    watch = Watch(target(fake, **more), spec, ear, session)
    watch.start()
    try:
        yield ear
        assert watch.errors == 0 or blind
    finally:
        await watch.close()


@contextlib.asynccontextmanager
async def asking(fake: Fake, session: aiohttp.ClientSession, prompt: str = "hi", **more: Any) -> AsyncIterator[Any]:
    """A user's request for the length of a block."""

    async def ask() -> int:
        async with session.post(f"{fake.url}/v1/completions", json={"prompt": prompt, **more}) as answer:
            await answer.read()
            return answer.status

    task = asyncio.create_task(ask())
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_good_worker_becomes_ready_and_stays(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Startup, then readiness, then nothing but successes."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        await ear.asks("progress", WINDOWS)
        assert [one[0] for one in ear.said] == ["started", "ready"]
        assert {one.verdict for one in ear.of("progress")} == {Verdict.SUCCESS}


@pytest.mark.parametrize("role", ["EngineCore", "Worker"])
async def test_t1_dead_core_health_200(fake: Fake, session: aiohttp.ClientSession, role: str) -> None:
    """An engine process that is stopped while /health says 200 is found by progress alone, on an idle server."""
    async with watching(fake, session, BLIND) as ear:
        await ear.hears("ready", True)
        fake.send(role, signal.SIGSTOP)
        summary, evidence = (await ear.hears("dead"))[1:]
        assert summary.startswith("progress: nothing moved for")
        assert evidence["canary"] == "waiting"
        await ear.hears("started")


@pytest.mark.parametrize("fake", [("--on-engine-death", "200")], indirect=True)
async def test_t1_killed_core_behind_a_living_server(fake: Fake, session: aiohttp.ClientSession) -> None:
    """An EngineCore that vanished is named with its pid, though the API server lives and answers 200."""
    async with watching(fake, session, FAST) as ear:
        await ear.hears("ready", True)
        core = fake.named("EngineCore")
        os.kill(core, signal.SIGKILL)
        _, summary, evidence = await ear.hears("dead")
        assert summary.startswith("process: ")
        assert evidence["pid"] == core or "Worker" in evidence["name"]


@pytest.mark.parametrize("fake", [("--on-engine-death", "200")], indirect=True)
async def test_a_leader_that_leaves_after_its_engine_is_left_to_it(
    fake: Fake, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vLLM takes a while to end itself; a verdict meanwhile would turn the engine's death into a stop of ours."""
    monkeypatch.setattr("genesisd.probes.kinds.process._PARTING", 60.0)  # so that no test is too slow for it
    spec = CALM.model_copy(update={"liveness": (ProcessProbe(period=0.1, timeout=120),)})
    async with watching(fake, session, spec) as ear:
        await ear.hears("ready", True)
        os.kill(fake.named("EngineCore"), signal.SIGKILL)
        await asyncio.sleep(0.8)  # as long as it takes the real one
        assert not ear.heard("dead")
        fake.process.kill()
        await ear.hears("dead")
        first = next(one for one in ear.of("process") if one.verdict is not Verdict.SUCCESS)
        assert (first.verdict, "left after it" in first.summary) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize("role", ["EngineCore", "Worker", "fake_worker.py"])
async def test_stopped_process_is_named_at_once(fake: Fake, session: aiohttp.ClientSession, role: str) -> None:
    """State T of any engine process or of the leader fails liveness, with pid and name."""
    async with watching(fake, session, FAST) as ear:
        await ear.hears("ready", True)
        pid = fake.named(role)
        os.kill(pid, signal.SIGSTOP)
        _, summary, evidence = await ear.hears("dead")
        assert "is stopped (state T)" in summary
        assert evidence["pid"] == pid


async def test_t2_half_alive_start(fake: Fake, session: aiohttp.ClientSession) -> None:
    """A server that opens its port but cannot generate passes startup and never becomes ready."""
    fake.faults(generate="hang")
    async with watching(fake, session, FAST.model_copy(update={"liveness": ()})) as ear:
        _, ok, summary = await ear.hears("ready")
        assert not ok
        assert "generation: no whole answer within 2 s" in summary
        assert ear.heard("started")


async def test_t3_wedge_with_running_0(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Frozen counters, running 0 and requests that never end: readiness and liveness both fail."""
    async with watching(fake, session, FAST) as ear:
        await ear.hears("ready", True)
        fake.faults(generate="hang", freeze_counters=True, running=0)
        await ear.hears("dead")
        assert ear.said[-1][2]["metrics"]["running"] == 0


async def test_t4_stale_gauges_on_an_idle_engine(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Gauges stuck at 106 and frozen counters are no fault while requests are answered."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        fake.faults(running=106, freeze_counters=True)
        await ear.asks("progress", WINDOWS)
        assert not ear.heard("dead")
        assert [one for one in ear.said if one[:2] == ("ready", False)] == []


@pytest.mark.parametrize("fake", [("--max-num-seqs", "1", "--token-delay", "0.05")], indirect=True)
async def test_t5_saturated_engine(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Behind a queue of long answers the probe's request starves: busy is unknown, and nobody is restarted."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        fake.faults(health_delay=3)
        async with asking(fake, session, max_tokens=10_000, ignore_eos=True):
            await ear.asks("generation", 3)
            await ear.asks("progress", WINDOWS)
        assert not ear.heard("dead")
        assert [one for one in ear.said if one[:2] == ("ready", False)] == []
        assert any(one.evidence.get("busy") for one in ear.of("generation"))


async def test_t6_long_prefill(fake: Fake, session: aiohttp.ClientSession) -> None:
    """A lone prefill far longer than the window, which moves only the KV gauge, is left alone."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        fake.faults(prefill_seconds=30)
        async with asking(fake, session, "word " * 100, max_tokens=1) as answer:
            assert await answer == 200
        assert not ear.heard("dead")
        assert [one for one in ear.said if one[:2] == ("ready", False)] == []
        assert any(one.evidence["canary"] == "waiting" for one in ear.of("progress"))


@pytest.mark.parametrize("fault", ["stall-after-1", "error", "empty", "no-finish", "hang"])
async def test_t7_answers_that_only_begin(fake: Fake, session: aiohttp.ClientSession, fault: str) -> None:
    """A stall in mid-stream, an error as a chunk, an empty 200 or no finish reason: not ready."""
    async with watching(fake, session, FAST.model_copy(update={"liveness": ()})) as ear:
        await ear.hears("ready", True)
        fake.faults(generate=fault)
        summary = (await ear.hears("ready", False))[2]
        assert summary.startswith("generation: ")
        fake.faults()
        await asyncio.wait_for(_again_ready(ear), 60)


async def _again_ready(ear: Ear) -> None:
    while ear.said[-1][1] is not True:
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("fake", [("--token-delay", "0.02")], indirect=True)
async def test_t7_own_stall_while_others_are_served(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Tokens of another request do not excuse a stream of one's own that began and then stood still."""
    async with asking(fake, session, max_tokens=10_000, ignore_eos=True) as busy:
        while not fake.control.exists():
            await asyncio.sleep(0.1)
            fake.faults(generate="stall-after-1")
        spec = FAST.model_copy(update={"liveness": (), "readiness": (GENERATION,)})
        async with watching(fake, session, spec) as ear:
            assert "stalled after 2 chunks" in (await ear.hears("ready", False))[2] or not busy.done()


async def test_unreachable_metrics_alone_are_no_fault(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Without /metrics progress is unknown, and the answered canary keeps the worker alive."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        fake.faults(metrics=500)
        await ear.asks("progress", WINDOWS)
        assert not ear.heard("dead")
        assert ear.of("progress")[-1].verdict is Verdict.UNKNOWN


async def test_unreachable_metrics_and_unanswered_requests_are_one(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Blind and starving for a whole window is a failure."""
    async with watching(fake, session, FAST) as ear:
        await ear.hears("ready", True)
        fake.faults(metrics=500, generate="hang")
        assert "/metrics does not answer either" in (await ear.hears("dead"))[1]


async def test_a_client_that_does_not_read_is_no_hang(fake: Fake, session: aiohttp.ClientSession) -> None:
    """A request that stays in flight on an idle engine convicts nobody: the canary is answered."""
    async with watching(fake, session, CALM) as ear:
        await ear.hears("ready", True)
        fake.faults(load=1)
        await ear.asks("progress", WINDOWS)
        assert not ear.heard("dead")


async def test_refused_canary_convicts_only_with_users_waiting(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Where no canary is let in, the front's unanswered requests have the word."""
    waiting = 0

    async def traffic() -> Traffic:
        return Traffic(waiting, waiting, 100.0 * waiting, 0)

    async with watching(fake, session, CALM.model_copy(update={"readiness": ()}), traffic=traffic) as ear:
        fake.faults(generate="error", load=0)
        await ear.asks("progress", WINDOWS)
        assert not ear.heard("dead")
        waiting = 1
        await ear.hears("dead")


async def test_a_daemon_without_descriptors_blames_nobody(fake: Fake, session: aiohttp.ClientSession) -> None:
    """Out of descriptors this side cannot ask: every probe is unknown, for longer than the window."""
    async with watching(fake, session, CALM, blind=True) as ear:
        await ear.hears("ready", True)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
        try:
            before = len(ear.outcomes)
            await asyncio.sleep(0.1)
            await ear.asks("progress", WINDOWS)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        blind = ear.outcomes[before + 5 :]
        assert {kind for _, kind, _ in blind} >= {"process", "port-owner", "progress"}
        assert Verdict.FAILURE not in {outcome.verdict for _, _, outcome in blind}
        assert not ear.heard("dead")


async def test_a_stranger_on_the_port_is_named(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """A second listener by SO_REUSEPORT, such as an orphan, fails readiness with its pid."""
    with running(tmp_path, "--reuse-port") as ours:
        async with watching(ours, session, FAST) as ear:
            await ear.hears("ready", True)
            with running(tmp_path, "--reuse-port", "--bare", port=ours.port) as orphan:
                summary = (await ear.hears("ready", False))[2]
                assert summary.startswith("port-owner: ")
                assert f"pid {orphan.pid}" in summary


@pytest.mark.parametrize("fake", [("--token-delay", "0.01")], indirect=True)
async def test_probes_yield_to_users(fake: Fake, session: aiohttp.ClientSession) -> None:
    """While users are answered and tokens are made the generation is skipped, but never for long."""
    answered = 0

    async def traffic() -> Traffic:
        return Traffic(0, 0, 0.0, answered)

    async with watching(fake, session, CALM, traffic=traffic) as ear:
        await ear.hears("ready", True)
        goal = len(ear.of("generation")) + 8
        while len(ear.of("generation")) < goal:
            async with asking(fake, session, max_tokens=4) as answer:
                assert await answer == 200
            answered += 1
        skipped = [bool(one.evidence.get("skipped")) for one in ear.of("generation")]
        assert not skipped[0]
        assert any(skipped)
        assert not all(skipped[-4:])


async def test_a_working_start_is_told(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """CPU time, memory or log of a start that has not passed counts as progress."""
    with running(tmp_path, "--boot-seconds", "3", "--boot-burn", wait=False, port=free_port()) as one:
        async with watching(one, session, FAST, log_path=one.log) as ear:
            await ear.hears("started")
            assert ear.heard("progressed")


async def test_a_hung_start_is_not(tmp_path: Path, session: aiohttp.ClientSession) -> None:
    """A start that only waits tells nothing after its first moments."""
    with running(tmp_path, "--hang-at-boot", wait=False, port=free_port()) as one:
        async with watching(one, session, FAST, log_path=one.log) as ear:
            while not any("EngineCore" in cmdline(pid) for pid in one.members()):  # which then only waits
                await asyncio.sleep(0.01)
            await ear.asks("http", 40)
            early = len(ear.said)
            await ear.asks("http", 60)
            assert len(ear.said) == early
            assert not ear.heard("started")


def open_descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_a_thousand_asks_leak_nothing(fake: Fake, session: aiohttp.ClientSession) -> None:
    """After 1,000 asks, faults among them, this process has the tasks and descriptors that it began with."""
    spec = ProbesSpec(
        startup=(HttpProbe(period=0.01, timeout=2),),
        readiness=tuple(GenerationProbe(period=0.001, timeout=0.2) for _ in range(4)),
        liveness=(ProgressProbe(period=0.001, window=60, canary_period=0.001, timeout=2),),
    )
    tasks, descriptors = len(asyncio.all_tasks()), open_descriptors()
    async with watching(fake, session, spec) as ear:
        await ear.hears("started")
        for fault in ("ok", "stall-after-1", "error", "hang", "ok"):
            fake.faults(generate=fault)
            await ear.asks("generation", 20)
        async with asyncio.timeout(90):
            while len(ear.outcomes) < 1000:
                await asyncio.sleep(0.01)
    async with asyncio.timeout(60):
        while len(asyncio.all_tasks()) > tasks or open_descriptors() > descriptors:
            await asyncio.sleep(0.01)
