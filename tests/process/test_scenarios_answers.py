"""T15: every class of wrong answer is found by its own probe in one ask, and what is odd but right by none."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.probes import PROBES
from genesisd.probes.casebooks import load
from genesisd.probes.golden import Golden
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.recording import record
from genesisd.probes.spec import CORRECTNESS
from tests.helpers.fake import Fake, running

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]
CASEBOOK = load(ROOT / "genesisd/demo/casebook.yaml")
ABILITIES = Abilities("hermes", "qwen3", "", True, 1024)
FLAGS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
ASKING = (
    "tokenizer", "golden", "logprob-drift", "tool-calls", "structured-output", "reasoning", "prefix-cache", "keep-alive",
    "degeneration",
)  # fmt: skip
"""The kinds that ask for answers."""
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "garbage": ({"answer": "garbage"}, "golden"),
    "garbage, seen by every probe": ({"answer": "garbage"}, "degeneration"),
    "one token over and over": ({"answer": "repeat"}, "degeneration"),
    "other weights": ({"answer": "swapped-weights"}, "golden"),
    "other weights, by their numbers": ({"answer": "swapped-weights"}, "logprob-drift"),
    "right text, shifted logprobs": ({"answer": "shifted-logprobs"}, "logprob-drift"),
    "NaN": ({"answer": "nan-logprobs"}, "logprob-drift"),
    "no calls, but their text": ({"answer": "calls-as-text"}, "tool-calls"),
    "a call dropped when streamed": ({"answer": "drop-streamed-call"}, "tool-calls"),
    "a wrong value": ({"answer": "wrong-argument"}, "tool-calls"),
    "invalid JSON": ({"answer": "invalid-json"}, "tool-calls"),
    "leaked tags": ({"answer": "leaked-tags"}, "tool-calls"),
    "a wrong end": ({"answer": "wrong-finish"}, "tool-calls"),
    "200 and no text": ({"answer": "empty-text"}, "golden"),
    "200 and no text, by its look": ({"answer": "empty-text"}, "degeneration"),
    "200 and no body": ({"generate": "empty"}, "golden"),
    "a leaking thought": ({"answer": "think-leak"}, "reasoning"),
    "a thought without end": ({"answer": "unclosed-think"}, "reasoning"),
    "a broken schema": ({"answer": "schema-violation"}, "structured-output"),
    "a broken expression": ({"answer": "regex-violation"}, "structured-output"),
    "other words after a hit": ({"answer": "prefix-hit-differs"}, "prefix-cache"),
    "another request's answer": ({"answer": "other-request"}, "keep-alive"),
    "another tokenizer": ({"tokenizer": "shifted"}, "tokenizer"),
}
ODD = {
    "nothing": {},
    "near ties": {"answer": "near-tie"},
    "near ties everywhere": {"answer": "near-tie-golden"},
    "slow tokens": {"token_delay": 0.001},
    "a late first token": {"latency": 0.03},
    "stale gauges": {"running": 106, "waiting": 3, "kv": 0.99, "freeze_counters": True},
    "too many requests": {"refuse": 429},
}
UNTOLD = {("near ties everywhere", "keep-alive")}
"""It compares words with words of a moment ago, and no margins: a server that tosses coins is beyond it."""


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    with running(tmp_path_factory.mktemp("fake"), "--demo", *FLAGS) as one:
        yield one


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with open_session() as one:
        yield one


def target(fake: Fake, golden: Golden | None = None) -> Target:
    return Target(
        worker="w", incarnation=1, leader=fake.pid, host=fake.host, port=fake.port, members=fake.members, model="tiny",
        abilities=ABILITIES, casebook=CASEBOOK, golden=lambda: golden,
    )  # fmt: skip


async def recorded(fake: Fake, session: aiohttp.ClientSession) -> Golden:
    return await record(target(fake), CASEBOOK, session, model="demo:tiny", pin="fake", build=None)


async def asked(kind: str, at: Target, session: aiohttp.ClientSession) -> Outcome:
    """One ask that costs what all its cases cost."""
    spec = next(one for one in CORRECTNESS if one.kind == kind).model_copy(update={"max_tokens": 10**6})
    probe = PROBES[kind](spec, session)
    try:
        return await probe.ask(at, 0.0)
    finally:
        await probe.close()


@pytest.mark.parametrize("name", FAULTS)
async def test_t15_wrong_answers_are_found_in_one_ask(fake: Fake, session: aiohttp.ClientSession, name: str) -> None:
    """Good before, bad while the fault is set and with its exchange first, good again once it is gone."""
    faults, kind = FAULTS[name]
    fake.faults()
    at = target(fake, await recorded(fake, session))
    for flipped, verdict in ((None, Verdict.SUCCESS), (faults, Verdict.FAILURE)):
        fake.faults(**flipped or {})
        outcome = await asked(kind, at, session)
        assert outcome.verdict is verdict, outcome.summary
    assert outcome.exchanges
    assert len(outcome.summary) < 500
    fake.faults()
    outcome = await asked(kind, target(fake, at.golden()), session)
    assert outcome.verdict is Verdict.SUCCESS, outcome.summary


@pytest.mark.parametrize("name", ODD)
async def test_t15_what_is_odd_but_right_is_no_failure(fake: Fake, session: aiohttp.ClientSession, name: str) -> None:
    """Four rounds of every kind that asks."""
    fake.faults(**(ODD[name] if name == "near ties everywhere" else {}))
    at = target(fake, await recorded(fake, session))
    fake.faults(**ODD[name])
    for _ in range(4):
        for kind in ASKING:
            if (name, kind) in UNTOLD:
                continue
            outcome = await asked(kind, at, session)
            assert outcome.verdict is not Verdict.FAILURE, f"{kind}: {outcome.summary}"
    fake.faults()
