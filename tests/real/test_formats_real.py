"""The kinds that judge the form of answers, on the real vLLM under both notations of tool calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from genesisd.demo.locate import CASEBOOK, locate
from genesisd.probes import PROBES
from genesisd.probes.casebook import Needle
from genesisd.probes.casebooks import load
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.spec import (
    CorrectnessProbe,
    DegenerationProbe,
    NeedleProbe,
    ReasoningProbe,
    StructuredOutputProbe,
    ToolCallsProbe,
)
from tests.real.serving import MODEL_NAME, Server

BOOK = load(CASEBOOK)
ROUNDS = 6
"""Asks within which every case has had its turn."""
SPECS: dict[str, tuple[CorrectnessProbe, int]] = {
    "tool-calls": (ToolCallsProbe(), 24),
    "structured-output": (StructuredOutputProbe(), 6),
    "reasoning": (ReasoningProbe(), 6),
    "degeneration": (DegenerationProbe(), 0),
}
"""By kind, with how many cases it has in the demo model's casebook."""


@pytest.fixture(scope="module", params=["hermes", "qwen3_coder"])
def served(request: pytest.FixtureRequest, serve: Callable[..., Any]) -> Iterator[tuple[str, Server]]:
    parser = request.param
    args = (
        *("--enable-auto-tool-choice", "--tool-call-parser", parser, "--reasoning-parser", "qwen3"),
        *("--chat-template", str(locate().template(parser))),
    )
    with serve(locate().path, args, {"VLLM_ENFORCE_STRICT_TOOL_CALLING": "1"}) as server:
        yield parser, server


def target(parser: str, server: Server, **more: Any) -> Target:
    known = {"worker": "w", "incarnation": 1, "leader": 1, "host": "127.0.0.1", "port": server.port}
    abilities = Abilities(parser, "qwen3", "", True, 1024)
    return Target(
        **(known | {"members": lambda: (), "model": MODEL_NAME, "casebook": BOOK, "abilities": abilities} | more)
    )


async def rounds(spec: CorrectnessProbe, one: Target, count: int = ROUNDS) -> list[Outcome]:
    """What a probe says in a row, as it would in one life."""
    async with open_session() as session:
        probe = PROBES[spec.kind](spec, session)
        outcomes = [await probe.ask(one, 0.0) for _ in range(count)]
        await probe.close()
        return outcomes


@pytest.mark.parametrize("kind", SPECS)
async def test_the_kind_is_good_and_every_case_is_asked(served: tuple[str, Server], kind: str) -> None:
    """Over several asks, each within its budget, every case is asked and right."""
    spec, cases = SPECS[kind]
    outcomes = await rounds(spec, target(*served))
    wrong = [one.summary for one in outcomes if one.verdict is not Verdict.SUCCESS or "not judged" in one.summary]
    assert not wrong
    assert sum(one.evidence.get("asked", 0) for one in outcomes) >= cases  # type: ignore[misc]
    assert all(one.evidence.get("cases", cases) == cases for one in outcomes)
    spent = [one.tokens for one in outcomes]
    print(f"{served[0]} {kind}: {spent} tokens")
    assert max(spent) <= spec.max_tokens


async def test_lengths_are_the_engines_own(served: tuple[str, Server]) -> None:
    """Texts are as long as asked by its count; above its context it refuses, and the step is left out."""
    filler = ("The baker brings bread to the mill.", "The miner brings coal to the harbour.")
    needle = Needle(filler, "The key word is amber.", "What is the key word?", ".")
    one = target(*served, casebook=replace(BOOK, needle=needle), abilities=Abilities())
    (outcome,) = await rounds(NeedleProbe(steps=(200, 400, 2000)), one, 1)
    lengths = [one.prompt_tokens for one in outcome.exchanges if one.prompt_tokens]
    assert outcome.verdict is Verdict.SUCCESS
    assert "2 of 3 cases asked, all answered right; not judged: 2,000 tokens: " in outcome.summary
    assert lengths == pytest.approx([200, 400], rel=0.15)


async def test_a_fact_that_the_model_cannot_find_is_told_with_the_length(served: tuple[str, Server]) -> None:
    """The tiny model knows one story only, so a needle in another text is a true miss."""
    needle = Needle(("The baker brings bread to the mill.",), "The code is 7314.", "What is the code?", "7314")
    (outcome,) = await rounds(NeedleProbe(steps=(200,)), target(*served, casebook=replace(BOOK, needle=needle)), 1)
    assert outcome.verdict is not Verdict.SUCCESS
    assert "200" in outcome.summary


async def test_without_a_needle_it_is_skipped(served: tuple[str, Server]) -> None:
    """The demo model's casebook has none."""
    (outcome,) = await rounds(NeedleProbe(), target(*served), 1)
    assert outcome.verdict is Verdict.SKIPPED


async def test_an_ask_that_is_withdrawn_leaves_nothing_in_the_engine(served: tuple[str, Server]) -> None:
    """Cancelled in the middle of a long answer, the engine drops the request."""
    _, server = served
    before = len(asyncio.all_tasks())
    async with open_session() as session:
        probe = PROBES["tool-calls"](ToolCallsProbe(), session)
        asking = asyncio.create_task(probe.ask(target(*served), 0.0))
        async with asyncio.timeout(60):
            while "vllm:num_requests_running{" not in (running := await asyncio.to_thread(_running, server)) or (
                running.endswith(" 0.0") and not asking.done()
            ):
                await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        await probe.close()
    async with asyncio.timeout(60):
        while not (await asyncio.to_thread(_running, server)).endswith(" 0.0"):
            await asyncio.sleep(0.05)
    assert len(asyncio.all_tasks()) == before


def _running(server: Server) -> str:
    return next(line for line in server.get("/metrics").splitlines() if line.startswith("vllm:num_requests_running{"))
