"""The fake's answers beside the real server's, request by request: what probes learn on the fake must hold on vLLM."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tests.helpers.fake import running
from tests.real.contract_requests import (
    ANSWERED,
    CASES,
    CHAT,
    HELLO,
    MODEL,
    NEEDLE,
    PLAIN,
    REFUSED,
    STREAMED,
    TOKENS,
    TOOLS_REFUSED,
    USAGE,
    said,
    series,
    shape,
    story,
)  # fmt: skip
from tests.real.replies import fits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.real

NGRAM = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
TOOLS = ("--enable-auto-tool-choice", "--reasoning-parser", "qwen3", "--tool-call-parser")
KINDS = {
    "hermes": (*TOOLS, "hermes", "--enable-prompt-tokens-details"),
    "coder": (*TOOLS, "qwen3_coder", "--speculative-config", json.dumps(NGRAM)),
    "bare": ("--no-enable-prefix-caching",),
}


@dataclass(frozen=True)
class Pair:
    """A fake and a real server under the same flags."""

    kind: str
    fake: str
    real: str

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[tuple[int, str], tuple[int, str]]:
        """Status and text of the fake's answer and of the real one."""
        return _ask(self.fake + path, body), _ask(self.real + path, body)


def _ask(url: str, body: dict[str, Any] | None) -> tuple[int, str]:
    sent = None if body is None else json.dumps({"model": "tiny"} | body).encode()
    request = urllib.request.Request(url, sent, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module", params=KINDS)
def pair(
    request: pytest.FixtureRequest, serve: Callable[..., Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pair]:
    flags = KINDS[request.param]
    if request.param == "coder":
        flags += ("--chat-template", str(MODEL.template("qwen3_coder")))
    with ExitStack() as stack:
        fake = stack.enter_context(running(tmp_path_factory.mktemp("fake"), "--demo", *flags))
        real = stack.enter_context(serve(MODEL.path, flags))
        yield Pair(request.param, fake.url, real.url)


@pytest.mark.parametrize("name", ANSWERED)
def test_shapes_of_answers(pair: Pair, name: str) -> None:
    """Whole answers have the same fields, types, ends and counts."""
    (status, fake), (also, real) = pair.ask(*ANSWERED[name])
    assert (status, also) == (200, 200), (fake, real)
    ours, theirs = json.loads(fake), json.loads(real)
    assert shape(ours) == shape(theirs)
    assert ours["usage"] == theirs["usage"]
    if name == "logprobs":
        assert [len(one["choices"][0]["logprobs"]["content"]) for one in (ours, theirs)] == [11, 11]


@pytest.mark.parametrize("name", STREAMED)
def test_order_of_streams(pair: Pair, name: str) -> None:
    """Streams tell the same story: role, thought, words, calls, end, usage, [DONE]."""
    path, body = ANSWERED[name]
    for options in (USAGE, {"stream": True}):
        (_, fake), (_, real) = pair.ask(path, body | options)
        assert story(fake) == story(real)


def _golden(kind: str) -> list[str]:
    parser = "qwen3_coder" if kind == "coder" else "hermes"
    return [name for name, one in CASES.items() if fits(one, parser, strict=True)][:: 1 if kind == "bare" else 3]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_golden_cases(pair: Pair, stream: bool) -> None:
    """What the model knows by heart comes out alike, to the letter and the token."""
    names = _golden(pair.kind)
    if pair.kind == "bare":  # without a parser a constraint binds the thought too, and the model is lost
        names = [one for one in names if CASES[one]["kind"] in {"plain", "think", "two_turn", "needle"}]
    asked = [CASES[name]["request"] | (USAGE if stream else {}) for name in names]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda body: pair.ask(CHAT, body), asked))
    wrong = [f"{name}: {ours} {theirs}" for name, (ours, theirs) in zip(names, found, strict=True)
             if said(ours[1], stream) != said(theirs[1], stream)]  # fmt: skip
    assert len(names) >= 40
    assert not wrong, f"{len(wrong)} of {len(names)}\n{wrong[0]}"


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(pair: Pair, name: str) -> None:
    """Refusals have the same status and words."""
    fake, real = pair.ask(*REFUSED[name])
    assert (fake[0], json.loads(fake[1])) == (real[0], json.loads(real[1]))


@pytest.mark.parametrize("name", TOOLS_REFUSED)
def test_tools_that_cannot_be_called(pair: Pair, name: str) -> None:
    """Without a parser, tools are refused in the same words; with one, what names no tool is."""
    if pair.kind != "bare" and name not in {"unnamed", "unheard"}:
        pytest.skip("this server calls tools")
    fake, real = pair.ask(CHAT, TOOLS_REFUSED[name])
    assert fake[0] == 400
    assert (fake[0], json.loads(fake[1])) == (real[0], json.loads(real[1]))


@pytest.mark.parametrize("name", TOKENS)
def test_tokens(pair: Pair, name: str) -> None:
    """Both count and spell alike."""
    fake, real = pair.ask(*TOKENS[name])
    assert (fake[0], json.loads(fake[1])) == (real[0], json.loads(real[1]))


def test_prefix_cache(pair: Pair) -> None:
    """A prompt of 316 tokens is found again up to its second block of 128, and a salt or prompt logprobs hide it."""
    for more in ({}, {}, {"cache_salt": "x"}, {"prompt_logprobs": 0}):
        (_, fake), (_, real) = pair.ask(CHAT, NEEDLE | {"max_tokens": 9} | more)
        assert json.loads(fake)["usage"] == json.loads(real)["usage"]


def test_other_endpoints(pair: Pair) -> None:
    """Cards, versions, wrong methods and bodies that are no JSON."""
    fake, real = pair.ask("/v1/models")
    assert shape(json.loads(fake[1])) == shape(json.loads(real[1]))
    for path, body in (("/version", None), ("/health", None), (CHAT, None), ("/health", {}), ("/tokenizer_info", None)):
        (ours, text), (theirs, also) = pair.ask(path, body)
        assert (path, ours, text.replace(": ", ":")) == (path, theirs, also)


def test_families(pair: Pair) -> None:
    """Every family that a probe reads has the same series, and counters move by the same tokens."""
    before = [series(_ask(url + "/metrics", None)[1]) for url in (pair.fake, pair.real)]
    pair.ask(CHAT, HELLO)
    pair.ask(CHAT, PLAIN | {"max_tokens": 3})
    after = [series(_ask(url + "/metrics", None)[1]) for url in (pair.fake, pair.real)]
    assert after[0].keys() == after[1].keys()
    grown = [{key: late[key] - early[key] for key in late} for early, late in zip(before, after, strict=True)]
    for name in ("prompt_tokens_total", "generation_tokens_total", "prefix_cache_queries_total"):
        assert grown[0][name] == grown[1][name], name
    for name in ("time_to_first_token_seconds_count", "inter_token_latency_seconds_count"):
        assert grown[0][name] > 0
        assert pair.kind == "coder" or grown[0][name] == grown[1][name], name
