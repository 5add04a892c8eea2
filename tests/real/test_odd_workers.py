"""The default set against real workers that are right and oddly set up: none is called wrong, and every reason is true."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from genesisd.clock import SystemClock
from genesisd.demo.locate import CASEBOOK, locate
from genesisd.probes import PROBES, by_deadline
from genesisd.probes.casebook import Casebook
from genesisd.probes.casebooks import general, load
from genesisd.probes.golden import Golden
from genesisd.probes.http_client import open_session
from genesisd.probes.model import Outcome, Verdict
from genesisd.probes.ports import Abilities, Target
from genesisd.probes.recording import record
from genesisd.probes.spec import CORRECTNESS, CorrectnessProbe
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.targets import abilities
from tests.real.serving import MODEL_NAME, Server

pytestmark = [pytest.mark.real, pytest.mark.timeout(900)]

PARSERS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3")
NGRAM = json.dumps({"method": "ngram", "num_speculative_tokens": 3, "prompt_lookup_max": 3, "prompt_lookup_min": 1})
ASKS = {"golden": 3, "tool-calls": 4, "degeneration": 3}
"""How often a kind is asked in a row, where that is not twice."""


@dataclass(frozen=True)
class Odd:
    """``skips``: kinds with a piece of the reason for which they cannot be asked, whatever the casebook.

    ``temperature``: of users. On a CPU vLLM 0.32 ends at the first hot request beside n-gram drafts.
    """

    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    skips: Mapping[str, str] = field(default_factory=dict)
    template: bool = True
    temperature: float = 1.0


WORKERS = {
    "a short context, a key, several names, behind a path": Odd(
        (*PARSERS, "--max-model-len", "256", "--served-model-name", MODEL_NAME, "other", "--root-path", "/proxy"),
        {"VLLM_API_KEY": "sesame"},
        {"needle": "", "acceptance": "it does not speculate"},
    ),
    "no cached prefixes, no logprobs, no statistics": Odd(
        (*PARSERS[3:], "--no-enable-prefix-caching", "--max-logprobs", "0", "--disable-log-stats"),
        {"VLLM_ENFORCE_STRICT_TOOL_CALLING": "0"},
        {"prefix-cache": "prefixes are not cached", "tool-calls": "without a tool parser"},
    ),
    "speculation, one at a time, token ids for tokens": Odd(
        (*PARSERS, "--speculative-config", NGRAM, "--max-num-seqs", "1", "--return-tokens-as-token-ids"),
        skips={"acceptance": "copied from the text"},
        temperature=0.0,
    ),
    "no chat template": Odd(
        (), skips={"tool-calls": "without a tool parser", "reasoning": "without a reasoning parser"}, template=False
    ),
}  # fmt: skip


class Seen:
    """``KnownRight`` that remembers."""

    def __init__(self) -> None:
        self.cases: set[tuple[str, str]] = set()

    def counts(self, kind: str, case: str) -> bool:
        return (kind, case) in self.cases

    def right(self, kind: str, case: str) -> None:
        self.cases.add((kind, case))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo model as a base model comes: it completes, and knows of no chat."""
    folder = tmp_path_factory.mktemp("model") / "tiny"
    shutil.copytree(locate().path, folder, ignore=shutil.ignore_patterns("chat_template*"))
    told = json.loads((folder / "tokenizer_config.json").read_text())
    told.pop("chat_template", None)
    (folder / "tokenizer_config.json").write_text(json.dumps(told))
    return folder


@pytest.fixture(scope="module", params=WORKERS.values(), ids=WORKERS.keys())
def served(
    request: pytest.FixtureRequest, serve: Callable[..., AbstractContextManager[Server]], bare: Path
) -> Iterator[tuple[Odd, Server]]:
    odd = request.param
    with serve(locate().path if odd.template else bare, odd.args, odd.env) as server:
        yield odd, server


def target_of(odd: Odd, server: Server, book: Casebook, golden: Golden | None) -> Target:
    spec = WorkerSpec.model_validate(
        {"pin": "cpu-0.32.0", "model": "tiny", "args": ["--max-model-len", "1024", *odd.args]}
    )
    key = odd.env.get("VLLM_API_KEY")
    more: dict[str, Any] = {} if book.vouched else {"known": Seen()}
    return Target(
        "w", 1, server.process.pid, "127.0.0.1", server.port, lambda: (server.process.pid,), model=MODEL_NAME,
        casebook=book, abilities=abilities(spec), golden=lambda: golden,
        headers={} if key is None else {"Authorization": f"Bearer {key}"}, **more,
    )  # fmt: skip


async def asked(spec: CorrectnessProbe, target: Target, session: aiohttp.ClientSession) -> list[Outcome]:
    """As the rounds ask; a probe that raises is a fault of ours."""
    raised: list[str] = []
    probe = PROBES[spec.kind](spec, session)
    outcomes = [
        await by_deadline.ask(probe, target, spec.timeout, SystemClock(), lambda: raised.append(spec.kind))
        for _ in range(ASKS.get(spec.kind, 2))
    ]
    await probe.close()
    for one in outcomes:
        print(f"{target.casebook.name} {spec.kind}: {one.verdict} {one.tokens} tokens: {one.summary}")
    assert not raised, outcomes
    return outcomes


@pytest.mark.parametrize("book", [load(CASEBOOK), general()], ids=["its own casebook", "the general casebook"])
async def test_a_right_worker_is_never_called_wrong(served: tuple[Odd, Server], book: Casebook) -> None:
    """Each kind says yes, or why it cannot be asked, or why nothing follows; also of questions beyond the model."""
    odd, server = served
    async with open_session() as session:
        golden = None
        if odd.template or book.name == "general":  # the demo model's own questions are all of them chat
            asking = target_of(odd, server, book, None)
            golden = await record(asking, book, session, model="tiny", pin="p", build=None)
        for spec in CORRECTNESS:
            for outcome in await asked(spec, target_of(odd, server, book, golden), session):
                assert outcome.verdict is not Verdict.FAILURE, (spec.kind, outcome.summary)
                if spec.kind in odd.skips:
                    assert outcome.verdict is Verdict.SKIPPED, (spec.kind, outcome.summary)
                    assert odd.skips[spec.kind] in outcome.summary


async def test_without_its_key_a_worker_is_unknown(served: tuple[Odd, Server]) -> None:
    """Nobody gave the probes the key: each says so, whether or not it knows the model's name."""
    odd, server = served
    if "VLLM_API_KEY" not in odd.env:
        pytest.skip("this one wants no key")
    for model in (MODEL_NAME, None):
        async with open_session() as session:
            target = Target(
                "w", 1, 1, "127.0.0.1", server.port, lambda: (), model=model, casebook=general(), abilities=Abilities()
            )
            for spec in CORRECTNESS:
                if spec.kind in {"tool-calls", "structured-output", "reasoning", "keep-alive", "degeneration"}:
                    for outcome in await asked(spec, target, session):
                        assert outcome.verdict is Verdict.UNKNOWN
                        assert "give genesisd the API key" in outcome.summary


async def user(
    url: str, headers: Mapping[str, str], rng: random.Random, over: asyncio.Event, temperature: float
) -> None:
    """Hot answers where the engine can give them, several at once where they can differ, with logprobs, and gone before they came as often as not."""
    text = ("Hello!", "Write the lamp song.", "The baker brings bread to the mill. " * 40)
    async with aiohttp.ClientSession(headers=headers) as session:
        while not over.is_set():
            body: dict[str, Any] = {"model": MODEL_NAME, "prompt": rng.choice(text), "max_tokens": 60}
            body |= {"temperature": temperature, "n": rng.choice((1, 4)) if temperature else 1}
            body |= {"stream": rng.random() < 0.5}
            with contextlib.suppress(TimeoutError, aiohttp.ClientError):
                async with asyncio.timeout(rng.choice((0.05, 0.5, 30))), session.post(url, json=body) as answer:
                    await answer.read()


async def test_users_make_no_right_worker_wrong(served: tuple[Odd, Server]) -> None:
    """What was recorded alone is held against a full engine: batches, aborts and waiting change nothing that counts."""
    odd, server = served
    if not odd.template:
        pytest.skip("nothing is compared there but one completion")
    book, over = load(CASEBOOK), asyncio.Event()
    async with open_session() as session:
        golden = await record(target_of(odd, server, book, None), book, session, model="tiny", pin="p", build=None)
        target = target_of(odd, server, book, golden)
        async with asyncio.TaskGroup() as group:
            for seed in range(8):
                url = f"{server.url}/v1/completions"
                group.create_task(user(url, target.headers, random.Random(seed), over, odd.temperature))
            try:
                for kind in ("golden", "logprob-drift", "prefix-cache", "keep-alive"):
                    spec = next(one for one in CORRECTNESS if one.kind == kind)
                    verdicts = {outcome.verdict for outcome in await asked(spec, target, session)}
                    assert Verdict.FAILURE not in verdicts
            finally:
                over.set()
