"""The fake server says what the demo model says, and wrong answers are wrong in the way that they say."""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.asking import reply
from tests.helpers.fake import Fake, running
from tests.real.contract_requests import CASES, HELLO, PLAIN, WEATHER
from tests.real.replies import expected, fits

pytestmark = pytest.mark.process

TOOLS = ("--enable-auto-tool-choice", "--reasoning-parser", "qwen3", "--tool-call-parser")
SPECULATIVE = json.dumps({"method": "ngram", "num_speculative_tokens": 4})
CARD = CASES["json-schema-paris/plain"]["request"]
PLATE = CASES["regex-red/plain"]["request"]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    flags = (*TOOLS, "hermes", "--enable-prompt-tokens-details", "--speculative-config", SPECULATIVE)
    with running(tmp_path_factory.mktemp("fake"), "--demo", *flags) as one:
        yield one


@pytest.fixture(autouse=True)
def _right(fake: Fake) -> Iterator[None]:
    yield
    fake.faults()


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("strict", [True, False], ids=["strict", "loose"])
@pytest.mark.parametrize("parser", ["hermes", "qwen3_coder"])
def test_every_golden_case(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parser: str, strict: bool, stream: bool
) -> None:
    """All of golden.json, with both parsers, strict and loose, is answered as the released server answers it."""
    monkeypatch.setenv("VLLM_ENFORCE_STRICT_TOOL_CALLING", str(int(strict)))
    cases = [one for one in CASES.values() if fits(one, parser, strict=strict)]
    with running(tmp_path, "--demo", *TOOLS, parser) as fake, ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: reply(fake, one["request"], stream), cases))
    wrong = [
        f"{case['id']}: {said}, expected {expected(case, parser, stream=stream)}"
        for case, said in zip(cases, found, strict=True)
        if said != expected(case, parser, stream=stream)
    ]
    assert len(cases) == 312
    assert not wrong, f"{len(wrong)}: {wrong[:3]}"


GREETING = CASES["hello/plain"]["expect"]["content"]


def said(said: str | None) -> Callable[[dict[str, Any]], bool]:
    return lambda one: one["content"] == said


WRONG: dict[str, tuple[dict[str, Any], Callable[[dict[str, Any]], bool]]] = {
    "garbage": (PLAIN, lambda one: set(one["content"]) == {"!"}),
    "repeat": (PLAIN, lambda one: one["content"].startswith("HelloHelloHello")),
    "swapped-weights": (PLAIN, lambda one: one["content"] != GREETING and len(one["content"].split()) == 8),
    "calls-as-text": (WEATHER, lambda one: not one["tool_calls"] and "<tool_call>" in one["content"]),
    "wrong-argument": (WEATHER, lambda one: '"days": 3' in one["tool_calls"][0]["arguments"]),
    "invalid-json": (WEATHER, lambda one: not one["tool_calls"][0]["arguments"].endswith("}")),
    "leaked-tags": (WEATHER, said("</tool_call>")),
    "wrong-finish": (WEATHER, lambda one: one["finish_reason"] == "stop" and one["tool_calls"]),
    "think-leak": (HELLO, lambda one: "</think>" in one["content"]),
    "unclosed-think": (HELLO, lambda one: one["content"] is None and "Hello, I am" in one["reasoning"]),
    "schema-violation": (CARD, lambda one: "city" not in json.loads(one["content"])),
    "regex-violation": (PLATE, said("AB-123?")),
}


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers(fake: Fake, name: str, stream: bool) -> None:
    """Each fault shows whole and streamed, goes with the next flip, and can be confined to the other half."""
    body, shows = WRONG[name]
    assert not shows(reply(fake, body, stream))
    fake.faults(answer=name)
    assert shows(reply(fake, body, stream))
    fake.faults(answer=[name], answer_only="whole" if stream else "stream")
    assert not shows(reply(fake, body, stream))
