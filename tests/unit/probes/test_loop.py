import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from genesisd.probes import PROBES
from genesisd.probes.loop import Watch
from genesisd.probes.model import Outcome, Stage, Verdict, failure, success, unknown
from genesisd.probes.ports import Target
from genesisd.probes.spec import GenerationProbe, HttpProbe, PortOwnerProbe, ProbeSpec, ProbesSpec, ProcessProbe
from tests.helpers.listening import Ear

TARGET = Target("w", 1, 1, "127.0.0.1", 1, members=list)
QUICK: dict[str, Any] = {"period": 0.001, "jitter": 0, "failures": 2}
SPEC = ProbesSpec(
    startup=(HttpProbe(**QUICK),),
    readiness=(PortOwnerProbe(**QUICK), GenerationProbe(**QUICK)),
    liveness=(ProcessProbe(**QUICK),),
)


class Script:
    """A kind whose answer a test sets."""

    def __init__(self) -> None:
        self.answer: Outcome | BaseException | None = success("fine")
        self.closed = 0
        self.asked = 0

    async def ask(self, target: Target, now: float) -> Outcome:
        self.asked += 1
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        assert self.answer
        return self.answer

    async def late(self, target: Target, now: float) -> Outcome:
        return failure("late")

    async def close(self) -> None:
        self.closed += 1


@pytest.fixture
def scripts(monkeypatch: pytest.MonkeyPatch) -> dict[str, Script]:
    made = {kind: Script() for kind in PROBES}
    for kind, script in made.items():
        make: Callable[[ProbeSpec, Any], Script] = lambda spec, session, script=script: script  # noqa: E731
        monkeypatch.setitem(PROBES, kind, make)  # type: ignore[arg-type]
    return made


@pytest.fixture
def ear() -> Ear:
    return Ear()


def watch(ear: Ear, spec: ProbesSpec = SPEC) -> Watch:
    one = Watch(TARGET, spec, ear, session=None)  # type: ignore[arg-type]
    one.start()
    return one


async def test_startup_gates_the_others(scripts: dict[str, Script], ear: Ear) -> None:
    """Nothing else is asked before startup has passed, and startup is not asked again after."""
    scripts["http"].answer = failure("not yet")
    one = watch(ear)
    await ear.asks("http", 5)
    assert {kind for _, kind, _ in ear.outcomes} == {"http"}
    scripts["http"].answer = success("up")
    await ear.hears("ready", True)
    assert ear.said[0] == ("started",)
    asked = scripts["http"].asked
    await ear.asks("process", 5)
    assert scripts["http"].asked == asked
    await one.close()


async def test_readiness_needs_all_and_is_told_on_change(scripts: dict[str, Script], ear: Ear) -> None:
    """All good: ready; one bad: not ready with its reason; good again: ready. Each told once."""
    scripts["generation"].answer = unknown("cannot ask")
    one = watch(ear)
    await ear.asks("port-owner", 5)
    assert not ear.heard("ready")
    for answer, ok in ((success("a"), True), (failure("b"), False), (success("c"), True)):
        scripts["generation"].answer = answer
        before = len(ear.said)
        async with asyncio.timeout(10):
            while len(ear.said) == before:
                await asyncio.sleep(0)
        assert ear.said[-1][:2] == ("ready", ok)
    assert ear.said[-2][2] == "generation: b"
    await ear.asks("generation", 5)
    assert len(ear.said) == 4
    await one.close()


async def test_a_start_that_cannot_generate_is_told(scripts: dict[str, Script], ear: Ear) -> None:
    """Readiness that was never good is told as not ready once its threshold is reached."""
    scripts["generation"].answer = failure("dead from the start")
    one = watch(ear)
    assert (await ear.hears("ready"))[1:] == (False, "generation: dead from the start")
    await one.close()


async def test_liveness_failure_ends_all_asking(scripts: dict[str, Script], ear: Ear) -> None:
    """After liveness has failed nothing is asked until a new life, and every kind is closed."""
    one = watch(ear)
    await ear.hears("ready", True)
    scripts["process"].answer = failure("stopped", pid=7)
    assert await ear.hears("dead") == ("dead", "process: stopped", {"pid": 7})
    async with asyncio.timeout(10):
        while not scripts["generation"].closed:
            await asyncio.sleep(0)
    asked = [script.asked for script in scripts.values()]
    await asyncio.sleep(0.01)
    assert [script.asked for script in scripts.values()] == asked
    await one.close()


async def test_one_failure_below_the_threshold_is_nothing(scripts: dict[str, Script], ear: Ear) -> None:
    """Liveness is presumed until its threshold is reached in a row."""
    one = watch(ear, SPEC.model_copy(update={"liveness": (ProcessProbe(period=0.001, failures=10_000),)}))
    scripts["process"].answer = failure("odd")
    await ear.asks("process", 20)
    assert not ear.heard("dead")
    await one.close()


@pytest.mark.parametrize("error", [RuntimeError("bug"), KeyError("x"), TimeoutError("its own"), OSError(24, "EMFILE")])
async def test_a_probe_that_raises_is_unknown(scripts: dict[str, Script], ear: Ear, error: Exception) -> None:
    """The loop survives, counts the error, and blames nobody."""
    one = watch(ear)
    await ear.hears("ready", True)
    scripts["process"].answer = scripts["generation"].answer = error
    await ear.asks("process", 5)
    await ear.asks("generation", 5)
    assert {outcome.verdict for outcome in ear.of("process")[-3:]} == {Verdict.UNKNOWN}
    assert one.errors >= 8
    scripts["process"].answer = success("again")
    await ear.asks("process", 5)
    assert ear.of("process")[-1].verdict is Verdict.SUCCESS
    assert [said[0] for said in ear.said] == ["started", "ready"]
    await one.close()


async def test_the_kind_says_what_its_deadline_means(scripts: dict[str, Script], ear: Ear) -> None:
    """An ask that does not come back is cancelled and judged by ``late``."""
    one = watch(ear, SPEC.model_copy(update={"liveness": (ProcessProbe(period=0.001, timeout=0.02, failures=2),)}))
    scripts["process"].answer = None
    assert (await ear.hears("dead"))[1] == "process: late"
    await one.close()


@pytest.mark.parametrize("stage", ["startup", "readiness", "liveness"])
async def test_closing_leaves_no_task(scripts: dict[str, Script], ear: Ear, stage: str) -> None:
    """Closing in the middle of an ask leaves no task and closes the kinds; closing twice is fine."""
    before = asyncio.all_tasks()
    kind = {"startup": "http", "readiness": "generation", "liveness": "process"}[stage]
    scripts[kind].answer = None
    one = watch(ear)
    async with asyncio.timeout(10):
        while not scripts[kind].asked:
            await asyncio.sleep(0)
    await one.close()
    await one.close()
    assert asyncio.all_tasks() == before
    assert scripts[kind].closed == 1


async def test_stages_may_be_empty(scripts: dict[str, Script], ear: Ear) -> None:
    """No probes at all: started and ready at once, and never dead."""
    one = watch(ear, ProbesSpec(startup=(), readiness=(), liveness=()))
    await ear.hears("ready", True)
    assert [said[0] for said in ear.said] == ["started", "ready"]
    await one.close()


def test_every_declared_kind_has_its_probe() -> None:
    """The table and the spec union list the same kinds."""
    from typing import get_args

    union = get_args(get_args(ProbeSpec)[0])
    assert {one.model_fields["kind"].default for one in union} == set(PROBES)


def test_results_carry_their_stage() -> None:
    """Stages are words that metrics may use."""
    assert [str(one) for one in Stage] == ["startup", "readiness", "liveness", "correctness"]
