"""Correctness probes beside users on a real server: they give way, blame nobody for being slow, and leave nothing."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.probes.casebook import AnswerCase, Casebook
from genesisd.probes.http_client import open_session
from genesisd.probes.loop import Watch
from genesisd.probes.model import Stage, Verdict
from genesisd.probes.ports import Target
from genesisd.probes.seat import Standing
from genesisd.probes.spec import (
    AcceptanceProbe,
    CostSpec,
    CreepProbe,
    HttpProbe,
    KeepAliveProbe,
    LatencyProbe,
    PrefixCacheProbe,
    ProbesSpec,
)
from tests.helpers.fake import Fake, running
from tests.helpers.listening import Ear

pytestmark = pytest.mark.process


def question(name: str, words: int = 5) -> AnswerCase:
    text = " ".join([f"Say {name}."] * words)
    return AnswerCase(name, {"messages": [{"role": "user", "content": text}], "max_tokens": 8})


BOOK = Casebook("test", golden=(question("one"), question("two")), prefix=question("long", 200))
QUICK: dict[str, Any] = {"period": 0.2, "recheck": 0.01, "jitter": 0.1}
KEPT, PREFIX = KeepAliveProbe(**QUICK), PrefixCacheProbe(**QUICK)


@pytest.fixture
def fake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fake]:
    with running(tmp_path, *getattr(request, "param", ())) as one:
        yield one


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


class Scene:
    """A watched fake."""

    def __init__(self, fake: Fake, session: aiohttp.ClientSession) -> None:
        self.fake, self.session, self.ear = fake, session, Ear()
        self.watch: Watch

    @contextlib.asynccontextmanager
    async def watching(self, *correctness: Any, **spec: Any) -> AsyncIterator[Watch]:
        stages = ProbesSpec(
            **{
                "startup": (HttpProbe(period=0.05),),
                "readiness": (),
                "liveness": (),
                "correctness": correctness,
                "cost": CostSpec(share=1, floor=10**9),
            }
            | spec
        )
        fake = self.fake
        target = Target("w", 1, fake.pid, fake.host, fake.port, members=fake.members, casebook=BOOK)
        self.watch = Watch(target, stages, self.ear, self.session)
        self.watch.start()
        try:
            yield self.watch
            assert self.watch.errors == 0
        finally:
            await self.watch.close()

    def standing(self, kind: str) -> Standing:
        return next(one for one in self.watch.standings() if one.kind == kind)

    def verdicts(self) -> set[Verdict]:
        return {outcome.verdict for stage, _, outcome in self.ear.outcomes if stage is Stage.CORRECTNESS}

    async def until(self, there: Callable[[], object], seconds: float = 60) -> None:
        async with asyncio.timeout(seconds):
            while not there():
                await asyncio.sleep(0.01)

    @contextlib.asynccontextmanager
    async def users(self, count: int, prompt: str = "hi", **body: Any) -> AsyncIterator[list[int]]:
        """So many users, each of whom asks again as soon as it was answered; the statuses of their answers."""
        statuses: list[int] = []

        async def ask() -> None:
            while True:
                asked = {"model": "tiny", "prompt": prompt, "max_tokens": 8} | body
                async with self.session.post(f"{self.fake.url}/v1/completions", json=asked) as answer:
                    await answer.read()
                    statuses.append(answer.status)

        tasks = [asyncio.create_task(ask()) for _ in range(count)]
        try:
            yield statuses
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


@pytest.fixture
def scene(fake: Fake, session: aiohttp.ClientSession) -> Scene:
    return Scene(fake, session)


async def test_a_good_idle_worker_is_found_good(scene: Scene) -> None:
    """All that is asked of it is answered right, again and again."""
    async with scene.watching(KEPT, PREFIX):
        await scene.ear.asks("keep-alive", 3)
        await scene.ear.asks("prefix-cache", 3)
        assert {one.standing for one in scene.watch.standings()} <= {"good", "skipped"}
        assert scene.standing("keep-alive").standing == "good"
        assert Verdict.FAILURE not in scene.verdicts()
        assert scene.standing("keep-alive").tokens > 0


async def test_probes_give_way_to_users(scene: Scene) -> None:
    """While somebody is served nothing is asked within the patience; it is as soon as nobody is."""
    patient = KeepAliveProbe(**QUICK | {"period": 600}, patience=1)
    async with scene.users(2, max_tokens=8) as statuses, scene.watching(patient):
        await scene.until(lambda: len(statuses) > 30)
        assert scene.ear.of("keep-alive") == []
        assert scene.standing("keep-alive").standing == "undecided"
    async with scene.watching(patient):
        await scene.ear.asks("keep-alive", 1)
        assert scene.ear.of("keep-alive")[-1].verdict is Verdict.SUCCESS


@pytest.mark.parametrize("fake", [("--max-num-seqs", "1", "--token-delay", "0.05")], indirect=True)
async def test_t5_saturated_engine(scene: Scene) -> None:
    """Probes leave a full engine to its users: unknown with a growing age, no failure; and they come back."""
    async with scene.watching(KEPT):
        await scene.until(lambda: scene.standing("keep-alive").standing == "good")
        async with scene.users(6, max_tokens=64):  # a queue for many seconds, that a pause of this process leaves full
            await scene.until(lambda: "could not ask: busy" in scene.ear.of("keep-alive")[-1].summary)
            asks = [one for one in scene.ear.of("keep-alive") if one.exchanges]
            ages = []
            for _ in range(3):
                await scene.ear.asks("keep-alive", 1)
                standing = scene.standing("keep-alive")
                assert standing.answered is not None
                ages.append(time.monotonic() - standing.answered)
            assert ages == sorted(ages)
            assert ages[-1] > ages[0]
            assert [one for one in scene.ear.of("keep-alive") if one.exchanges] == asks
        told = len(scene.ear.of("keep-alive"))
        await scene.until(lambda: scene.ear.of("keep-alive")[told:] and scene.ear.of("keep-alive")[-1].exchanges)
        assert Verdict.FAILURE not in scene.verdicts()
        assert scene.standing("keep-alive").standing == "good"


async def test_t6_long_prefill(scene: Scene) -> None:
    """A prompt that fills the engine for long makes probes late, and late is unknown."""
    scene.fake.faults(prefill_seconds=3600)
    hasty = KeepAliveProbe(**QUICK, timeout=0.5)
    async with scene.users(1, prompt="word " * 100), scene.watching(hasty, PrefixCacheProbe(**QUICK, timeout=0.5)):
        await scene.ear.hears("ready", True)
        await scene.until(lambda: scene.watch.standings()[0].asked is not None)  # beside the prefill nothing is served
        for _ in range(2):
            for kind in ("keep-alive", "prefix-cache"):
                assert (await scene.watch.run_now(kind)).verdict is Verdict.UNKNOWN
        assert scene.verdicts() == {Verdict.UNKNOWN}


@pytest.mark.parametrize("answer", [429, 503])
async def test_an_engine_that_refuses_is_not_wrong(scene: Scene, answer: int) -> None:
    """No room is no wrong answer."""
    scene.fake.faults(refuse=answer)
    async with scene.watching(KEPT, PREFIX):
        await scene.ear.asks("keep-alive", 3)
        await scene.ear.asks("prefix-cache", 3)
        assert scene.verdicts() == {Verdict.UNKNOWN}


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_a_thousand_asks_leave_nothing(scene: Scene) -> None:
    """Whether they end, are late, or are cut off by the end of a life at any moment: no task, no descriptor stays."""
    rng = random.Random(4)
    tasks, before, asked = asyncio.all_tasks(), 0, 0
    for life in range(40):
        hasty = {"period": 0.001, "recheck": 0.001, "timeout": rng.choice([0.002, 0.002, 0.005, 0.005, 0.02, 5.0])}
        async with scene.watching(KeepAliveProbe(**hasty), PrefixCacheProbe(**hasty)):
            goal = len(scene.ear.outcomes) + 27
            await scene.until(lambda: len(scene.ear.outcomes) >= goal)  # noqa: B023 - it is over before the next life
            operator = asyncio.create_task(scene.watch.run_now("keep-alive"))
            await asyncio.sleep(rng.uniform(0, 0.01))
            operator.cancel()
            await asyncio.wait([operator])
        asked = sum(stage is Stage.CORRECTNESS for stage, _, _ in scene.ear.outcomes)
        assert asyncio.all_tasks() == tasks
        if life == 2:
            before = descriptors()
    assert asked >= 1000
    async with asyncio.timeout(60):
        while descriptors() > before:  # closing sockets takes a turn of the loop
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("fake", [("--demo", "--speculative-config", '{"num_speculative_tokens": 4}')], indirect=True)
async def test_numbers_of_a_real_page_are_read(scene: Scene) -> None:
    """Acceptance and latency weigh what the server counted; a drafter that gets worse and slow answers are told."""
    acceptance = AcceptanceProbe(period=0.1, recheck=0.1, window=2, min_drafts=20)
    latency = LatencyProbe(period=0.1, recheck=0.1, window=2, first_token=0.25, min_requests=3)
    async with scene.watching(acceptance, latency), scene.users(2, prompt="Hello, who are you?", max_tokens=32):
        for kind in ("acceptance", "latency"):
            await scene.until(lambda kind=kind: scene.standing(kind).standing == "good", 120)
        scene.fake.faults(acceptance=0.1, latency=0.6)
        for kind in ("acceptance", "latency"):
            await scene.until(lambda kind=kind: scene.standing(kind).standing == "bad")
        assert "expected at least 0.55" in next(
            one.summary for one in scene.ear.of("acceptance") if one.verdict is Verdict.FAILURE
        )


async def test_a_leak_of_a_real_process_is_told(scene: Scene) -> None:
    """Resident memory of the tree grows, and creep says so."""
    spec = CreepProbe(period=0.1, recheck=0.1, window=24, min_span=3, memory=1 << 20, failures=1)
    async with scene.watching(spec):
        await scene.until(lambda: scene.standing("creep").standing == "good")
        scene.fake.faults(rss_leak=64 << 20)
        await scene.until(lambda: scene.standing("creep").standing == "bad", 120)
        outcome = next(one for one in scene.ear.of("creep") if one.verdict is Verdict.FAILURE)
        assert outcome.summary.startswith("resident memory grows by at least")
