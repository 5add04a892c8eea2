import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from genesisd.errors import ConflictError
from genesisd.probes import PROBES
from genesisd.probes.loop import Watch
from genesisd.probes.model import Exchange, Outcome, Stage, Verdict, failure, skipped, success, unknown
from genesisd.probes.ports import Target, Traffic
from genesisd.probes.spec import (
    CostSpec,
    EngagementProbe,
    GoldenProbe,
    HttpProbe,
    LatencyProbe,
    ProbesSpec,
    ProcessProbe,
    ToolCallsProbe,
)
from tests.helpers.listening import Ear
from tests.helpers.wire import Wire

NEVER = 1e6
QUICK: dict[str, Any] = {"period": 0.01, "jitter": 0, "recheck": 0.001}
GOLDEN = GoldenProbe(**QUICK)
TOOLS = ToolCallsProbe(**QUICK)
FREE = EngagementProbe(**QUICK)


class Script:
    """A kind whose answer a test sets; None: never comes back."""

    def __init__(self) -> None:
        self.answer: Outcome | BaseException | None = success("fine")
        self.asked = self.closed = self.cancelled = 0
        self.busy: set[Script] = set()

    async def ask(self, target: Target, now: float) -> Outcome:
        self.asked += 1
        assert not self.busy, "two at a time"
        self.busy.add(self)
        try:
            if self.answer is None:
                await asyncio.Event().wait()
            await asyncio.sleep(0.001)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.busy.discard(self)
        if isinstance(self.answer, BaseException):
            raise self.answer
        assert self.answer
        return self.answer

    async def late(self, target: Target, now: float) -> Outcome:
        return unknown("the deadline passed before an answer")

    async def close(self) -> None:
        self.closed += 1


class Still(Script):
    """A kind of another stage: not part of the rounds, so it may be asked beside them."""

    async def ask(self, target: Target, now: float) -> Outcome:
        self.asked += 1
        assert isinstance(self.answer, Outcome)
        return self.answer


class Users:
    """What the front says."""

    def __init__(self, in_flight: int = 0) -> None:
        self.in_flight = in_flight
        self.answered = 0

    async def __call__(self) -> Traffic | None:
        return Traffic(self.in_flight, 0, 0.0, self.answered)


class Engine:
    """What /metrics says."""

    def __init__(self) -> None:
        self.tokens = self.waiting = 0.0

    def __call__(self) -> bytes:
        text = f"vllm:generation_tokens_total {self.tokens}\nvllm:num_requests_waiting {self.waiting}\n"
        return text.encode()


class Scene:
    """One worker with scripted probes, watched."""

    def __init__(self, scripts: dict[str, Script]) -> None:
        self.scripts, self.ear, self.users, self.engine = scripts, Ear(), Users(), Engine()
        self.watches: list[Watch] = []

    def watch(self, *correctness: Any, proven: bool = False, **spec: Any) -> Watch:
        stages = ProbesSpec(
            **{"startup": (HttpProbe(period=0.001),), "readiness": (), "liveness": (), "correctness": correctness}
            | spec
        )
        target = Target("w", 1, 1, "127.0.0.1", 1, members=list, traffic=self.users)
        one = Watch(target, stages, self.ear, Wire({"/metrics": self.engine}), proven=proven)  # type: ignore[arg-type]
        one.start()
        self.watches.append(one)
        return one

    async def until(self, there: Callable[[], object]) -> None:
        async with asyncio.timeout(30):
            while not there():
                await asyncio.sleep(0.001)

    def verdicts(self, kind: str) -> list[Verdict]:
        return [one.verdict for one in self.ear.of(kind)]


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    rounds = {one.kind: Script() for one in (GOLDEN, TOOLS, FREE, LatencyProbe())}
    busy: set[Script] = set()
    for script in rounds.values():
        script.busy = busy
    scripts = {"http": Still(), "process": Still()} | rounds
    for kind, script in scripts.items():
        monkeypatch.setitem(PROBES, kind, lambda spec, session, script=script: script)  # type: ignore[arg-type, misc]
    one = Scene(scripts)
    yield one
    for watch in one.watches:
        await watch.close()


def costing(tokens: int, summary: str = "fine") -> Outcome:
    return Outcome(Verdict.SUCCESS, summary, exchanges=(Exchange("/v1/completions", {}, 200, "", 0.0, tokens, 0),))


async def test_nothing_is_asked_before_the_worker_was_ready(scene: Scene) -> None:
    """Correctness waits for the first readiness, and goes on when readiness is lost again."""
    scene.scripts["http"].answer = failure("booting")
    watch = scene.watch(GOLDEN, FREE)
    await scene.ear.asks("http", 20)
    assert {kind for _, kind, _ in scene.ear.outcomes} == {"http"}
    assert {one.standing for one in watch.standings()} == {"undecided"}
    assert {one.due for one in watch.standings()} == {None}
    scene.scripts["http"].answer = success("up")
    await scene.ear.asks("golden", 3)
    assert {stage for stage, kind, _ in scene.ear.outcomes if kind == "golden"} == {Stage.CORRECTNESS}


async def test_a_worker_that_was_ready_before_is_asked_at_once(scene: Scene) -> None:
    """A life that another daemon found ready needs no readiness of this one, and asks are spread."""
    scene.scripts["process"].answer = failure("odd")
    watch = scene.watch(GOLDEN, proven=True, readiness=(ProcessProbe(failures=1000),))
    assert not scene.ear.heard("ready")
    await scene.ear.asks("golden", 3)
    assert watch.errors == 0


async def test_one_at_a_time_and_each_in_its_turn(scene: Scene) -> None:
    """Probes of the same period are asked equally often, never two at once."""
    watch = scene.watch(GOLDEN, TOOLS, FREE)
    await scene.ear.asks("golden", 30)
    counts = [scene.scripts[kind].asked for kind in ("golden", "tool-calls", "engagement")]
    assert max(counts) - min(counts) <= 3
    assert watch.errors == 0  # a second one at the same time would have raised


async def test_a_failure_is_checked_again_soon_until_the_threshold(scene: Scene) -> None:
    """The second opinion comes after ``recheck``; once the probe is bad it is asked at its period again."""
    scene.scripts["golden"].answer = failure("wrong")
    watch = scene.watch(GoldenProbe(period=NEVER, recheck=0.001, failures=3))
    await scene.ear.asks("golden", 3)
    assert [good for _, _, good in scene.ear.standings] == [True, True, False]
    await asyncio.sleep(0.05)
    assert scene.scripts["golden"].asked == 3
    (standing,) = watch.standings()
    assert (standing.standing, standing.streak) == ("bad", 3)
    assert standing.due is not None
    assert standing.answered is not None
    assert standing.due - standing.answered > NEVER / 2


async def test_a_failing_probe_does_not_keep_the_others_from_their_turn(scene: Scene) -> None:
    """However often a failing one may be checked again, the others go in between."""
    scene.scripts["golden"].answer = failure("wrong")
    scene.watch(GoldenProbe(period=0.01, recheck=0, failures=10_000), TOOLS)
    await scene.ear.asks("tool-calls", 10)
    assert scene.scripts["golden"].asked >= 5


async def test_getting_good_again_is_checked_soon_as_well(scene: Scene) -> None:
    """Two successes that are needed do not take two periods."""
    script = scene.scripts["golden"]
    script.answer = failure("wrong")
    watch = scene.watch(GoldenProbe(period=NEVER, recheck=0.001, failures=1, successes=3))
    await scene.until(lambda: scene.ear.standings)
    script.answer = success("right")
    await watch.run_now("golden")
    await scene.until(lambda: [good for _, _, good in scene.ear.standings] == [False, False, False, True])


async def test_unknown_and_skipped_are_told_but_not_weighed(scene: Scene) -> None:
    """What proves nothing changes no standing, and shows as undecided or skipped."""
    scene.scripts["golden"].answer = unknown("429")
    scene.scripts["tool-calls"].answer = skipped("no parser")
    watch = scene.watch(GOLDEN, TOOLS)
    await scene.ear.asks("golden", 3)
    await scene.ear.asks("tool-calls", 3)
    assert scene.ear.standings == []
    golden, tools = watch.standings()
    assert (golden.standing, golden.answered) == ("undecided", None)
    assert (tools.standing, tools.answered) == ("skipped", None)
    assert golden.asked is not None


async def test_what_is_lacked_does_not_block_readiness(scene: Scene) -> None:
    """A correctness kind among the readiness probes that the worker cannot be asked counts as good."""
    scene.scripts["golden"].answer = skipped("nothing is recorded")
    scene.watch(readiness=(GOLDEN, ProcessProbe(period=0.001)), startup=(TOOLS,))
    assert (await scene.ear.hears("ready"))[1] is True
    scene.scripts["golden"].answer = failure("wrong")
    assert (await scene.ear.hears("ready", False))[2] == "golden: wrong"
    scene.scripts["golden"].answer = skipped("nothing is recorded")
    await scene.until(lambda: [one[1] for one in scene.ear.said if one[0] == "ready"] == [True, False, True])


@pytest.mark.parametrize("error", [RuntimeError("bug"), TimeoutError("its own"), OSError(24, "EMFILE")])
async def test_a_probe_that_raises_is_unknown(scene: Scene, error: Exception) -> None:
    """The rounds go on, the error is counted, and nobody is blamed."""
    scene.scripts["golden"].answer = error
    watch = scene.watch(GOLDEN, FREE)
    await scene.ear.asks("golden", 3)
    await scene.ear.asks("engagement", 3)
    assert set(scene.verdicts("golden")) == {Verdict.UNKNOWN}
    assert watch.errors >= 3


async def test_a_late_answer_is_what_the_kind_says(scene: Scene) -> None:
    """An ask past its deadline is cancelled and is unknown."""
    scene.scripts["golden"].answer = None
    scene.watch(GoldenProbe(**QUICK, timeout=0.01))
    await scene.ear.asks("golden", 3)
    assert set(scene.verdicts("golden")) == {Verdict.UNKNOWN}
    assert scene.scripts["golden"].cancelled >= 3


async def test_users_go_first(scene: Scene) -> None:
    """While users are served nothing that costs is asked within its patience; what costs nothing is."""
    scene.users.in_flight = 1
    scene.watch(GoldenProbe(**QUICK | {"period": NEVER}), FREE)
    await scene.ear.asks("engagement", 20)
    assert scene.scripts["golden"].asked == 0
    scene.users.in_flight = 0
    await scene.ear.asks("golden", 1)


async def test_patience_ends_beside_traffic_within_the_budget(scene: Scene) -> None:
    """After its patience a probe is asked beside users, as far as its share of what they were served goes."""
    scene.users.in_flight = 1
    scene.scripts["golden"].answer = costing(100)
    watch = scene.watch(GoldenProbe(**QUICK, max_tokens=100), FREE, cost=CostSpec(share=0.01))
    await scene.until(lambda: Verdict.UNKNOWN in scene.verdicts("golden"))
    assert scene.scripts["golden"].asked == 0
    scene.engine.tokens += 30_000
    await watch.run_now("engagement")
    await scene.until(lambda: scene.scripts["golden"].asked == 3)
    await scene.ear.asks("engagement", 20)
    assert scene.scripts["golden"].asked == 3
    assert scene.ear.of("golden")[-1].summary.startswith("could not ask: it may cost 100 tokens, and 0 are left")


async def test_a_saturated_engine_is_left_alone_and_that_is_told(scene: Scene) -> None:
    """Requests that wait in the engine put probes off; it is unknown once a period, and the last answer's age grows."""
    scene.users.in_flight, scene.engine.waiting = 5, 2
    watch = scene.watch(GOLDEN, FREE, cost=CostSpec(share=1))
    await scene.ear.asks("golden", 3)
    assert set(scene.verdicts("golden")) == {Verdict.UNKNOWN}
    assert scene.ear.of("golden")[0].summary == "could not ask: busy: users' requests wait for room in the engine"
    assert scene.scripts["golden"].asked == 0
    standing = watch.standings()[0]
    assert standing.answered is None
    assert standing.asked is not None
    scene.engine.waiting, scene.users.in_flight = 0, 0
    await scene.until(lambda: scene.scripts["golden"].asked)


async def test_an_operator_need_not_wait_for_users(scene: Scene) -> None:
    """run_now asks whatever users do, its answer counts, and it does not spend the budget of the rounds."""
    scene.users.in_flight, scene.engine.waiting = 5, 2
    scene.scripts["golden"].answer = failure("wrong")
    watch = scene.watch(GoldenProbe(period=NEVER, failures=2))
    await scene.ear.hears("ready", True)
    answers = [await watch.run_now("golden") for _ in range(2)]
    assert {one.summary for one in answers} == {"wrong"}
    assert [good for _, _, good in scene.ear.standings] == [True, False]


async def test_operators_who_ask_the_same_share_one_ask(scene: Scene) -> None:
    """Who calls before the ask began gets its answer; one who left is forgotten."""
    watch = scene.watch(GoldenProbe(period=NEVER), FREE)
    await scene.ear.asks("golden", 1)
    gone = asyncio.create_task(watch.run_now("golden"))
    both = [asyncio.create_task(watch.run_now("golden")) for _ in range(2)]
    await asyncio.sleep(0)
    gone.cancel()
    await asyncio.gather(*both)
    assert scene.scripts["golden"].asked == 2


@pytest.mark.parametrize("stage", ["unknown kind", "not ready", "ended before", "ended meanwhile"])
async def test_an_operator_is_told_why_it_cannot_be_asked(scene: Scene, stage: str) -> None:
    """Each reason is a ConflictError that says what to do."""
    if stage == "not ready":
        scene.scripts["http"].answer = failure("booting")
    watch = scene.watch(GOLDEN)
    if stage == "unknown kind":
        with pytest.raises(ConflictError, match="not asked for 'needle'; it is asked for golden"):
            await watch.run_now("needle")
        return
    if stage == "not ready":
        with pytest.raises(ConflictError, match="has not been ready yet"):
            await watch.run_now("golden")
        return
    scene.scripts["golden"].answer = None
    await scene.until(lambda: scene.scripts["golden"].asked)
    asked = asyncio.create_task(watch.run_now("golden"))
    if stage == "ended meanwhile":
        await asyncio.sleep(0.001)
    await watch.close()
    with pytest.raises(ConflictError, match="has ended"):
        await (asked if stage == "ended meanwhile" else watch.run_now("golden"))
    asked.cancel()
    await asyncio.wait([asked])
    assert asked.cancelled() or asked.exception() is not None


async def test_the_end_of_a_life_ends_the_ask(scene: Scene) -> None:
    """A liveness failure cancels the probe in progress and closes every kind; closing again is fine."""
    scene.scripts["golden"].answer = None
    before = asyncio.all_tasks()
    watch = scene.watch(GOLDEN, FREE, liveness=(ProcessProbe(period=0.001, failures=1),))
    await scene.until(lambda: scene.scripts["golden"].asked)
    scene.scripts["process"].answer = failure("dead")
    await scene.ear.hears("dead")
    await scene.until(lambda: scene.scripts["golden"].closed)
    assert scene.scripts["golden"].cancelled == 1
    await watch.close()
    await watch.close()
    assert [scene.scripts[kind].closed for kind in ("golden", "engagement")] == [1, 1]
    assert asyncio.all_tasks() == before
    with pytest.raises(ConflictError, match="has ended"):
        await watch.run_now("golden")


async def test_a_fault_of_the_listener_costs_one_ask(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """The operator gets the answer all the same, and neither rounds nor liveness end."""
    watch = scene.watch(GoldenProbe(period=NEVER))
    await scene.ear.asks("golden", 1)

    def broken(*_: object) -> None:
        raise RuntimeError("bug")

    with monkeypatch.context() as patch:
        patch.setattr(scene.ear, "result", broken)
        assert (await watch.run_now("golden")).summary == "fine"
    await watch.run_now("golden")
    assert watch.errors == 1
