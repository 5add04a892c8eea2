"""What the kinds of formats leave behind: nothing, however often and wherever they are stopped."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.probes import PROBES
from genesisd.probes.casebook import Call, Casebook, Needle, ReasoningCase, StructuredCase, ToolCase
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Verdict
from genesisd.probes.ports import Probe, Target
from genesisd.probes.spec import (
    CorrectnessProbe,
    DegenerationProbe,
    NeedleProbe,
    ReasoningProbe,
    StructuredOutputProbe,
    ToolCallsProbe,
)
from tests.helpers.scripted import HANG, Engine, Said, engine

BODY: dict[str, Any] = {"messages": [{"role": "user", "content": "Hm?"}]}
BOOK = Casebook(
    tools=(ToolCase("one", {**BODY, "tools": []}, (Call("f", {}),)),),
    structured=(StructuredCase("way", BODY, "choice", ["north"]),),
    reasoning=(ReasoningCase("hm", ("Hm?",)),),
    needle=Needle(("The road goes on.",), "The code is 7314.", "What is the code?", "7314"),
)
SPECS: dict[str, CorrectnessProbe] = {
    "tool-calls": ToolCallsProbe(timeout=7),
    "structured-output": StructuredOutputProbe(timeout=7),
    "reasoning": ReasoningProbe(timeout=7),
    "needle": NeedleProbe(steps=(500,), timeout=7),
    "degeneration": DegenerationProbe(timeout=7),
}


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


def made(kind: str, session: aiohttp.ClientSession) -> Probe:
    return PROBES[kind](SPECS[kind], session)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def settled(one: Engine, tasks: int) -> None:
    """Until the engine has no open request and no task is left."""
    async with asyncio.timeout(60):
        while one.open or len(asyncio.all_tasks()) > tasks:
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("kind", SPECS)
async def test_asks_that_are_withdrawn_leave_nothing(kind: str, session: aiohttp.ClientSession) -> None:
    """A hundred asks of an engine that hangs or answers, cancelled after any number of steps."""
    rng = random.Random(kind)
    async with engine(lambda _: HANG if rng.random() < 0.5 else Said("north")) as one:
        target = one.target(casebook=BOOK)
        tasks, probe = len(asyncio.all_tasks()), made(kind, session)
        await _withdrawn(probe, target, 0)
        before = descriptors()
        for _ in range(100):
            await _withdrawn(probe, target, rng.randrange(60))
        await probe.close()
        await settled(one, tasks + 1)
        assert descriptors() <= before + 2


async def _withdrawn(probe: Probe, target: Target, steps: int) -> None:
    asking = asyncio.create_task(probe.ask(target, 0.0))
    for _ in range(steps):
        await asyncio.sleep(0)
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking


@pytest.mark.parametrize("kind", SPECS)
async def test_an_ask_that_is_late_is_unknown(kind: str, session: aiohttp.ClientSession) -> None:
    """A deadline that passes before an answer says nothing of what is right; what was asked is kept."""
    async with engine(lambda _: HANG) as one:
        target, probe = one.target(casebook=BOOK), made(kind, session)
        asking = asyncio.create_task(probe.ask(target, 0.0))
        async with asyncio.timeout(60):
            while not one.open:
                await asyncio.sleep(0.01)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        outcome = await probe.late(target, 0.0)
    assert outcome.verdict is Verdict.UNKNOWN
    assert outcome.summary == f"no whole answer within 7 s, so nothing is known of {kind}"
    assert outcome.exchanges


@pytest.mark.parametrize("kind", SPECS)
async def test_an_engine_that_is_gone_is_unknown(kind: str, session: aiohttp.ClientSession) -> None:
    """Whether it lives is other probes' matter."""
    async with engine(lambda _: HANG) as one:
        target = one.target(casebook=BOOK)
    outcome = await made(kind, session).ask(target, 0.0)
    assert (outcome.verdict, outcome.summary.startswith("could not ask: ")) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize("status", [408, 429, 503])
async def test_an_engine_that_is_busy_is_unknown(kind: str, status: int, session: aiohttp.ClientSession) -> None:
    """Users come first."""
    async with engine(lambda _: Said(status=status, raw='{"error": {"message": "busy"}}')) as one:
        outcome = await made(kind, session).ask(one.target(casebook=BOOK), 0.0)
    assert outcome.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("kind", SPECS)
async def test_a_shortage_of_this_side_is_unknown(
    kind: str, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No descriptor left for a question is no answer of the engine."""

    async def short(*_: Any, **__: Any) -> Any:
        raise OSError(24, "Too many open files")

    async with engine(lambda _: HANG) as one:
        monkeypatch.setattr(session.connector, "_create_connection", short)
        outcome = await made(kind, session).ask(one.target(casebook=BOOK), 0.0)
    assert (outcome.verdict, "Too many open files" in outcome.summary) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize("kind", SPECS)
async def test_a_server_error_is_a_failure(kind: str, session: aiohttp.ClientSession) -> None:
    """500 to a sane request is wrong, in whichever form."""
    async with engine(lambda _: Said(status=500, raw='{"error": {"message": "boom"}}')) as one:
        outcome = await made(kind, session).ask(one.target(casebook=BOOK), 0.0)
    assert (outcome.verdict, "boom" in outcome.summary) == (Verdict.FAILURE, True)
    assert outcome.exchanges[0].status == 500
