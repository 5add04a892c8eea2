"""Faults of the fake that show in a sequence, in numbers, in memory or in its end."""

import http.client
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.asking import CHAT, TEXT, ask, metric, reply
from tests.helpers.fake import Fake, alive, running, until
from tests.helpers.fakevllm import ledger
from tests.real.contract_requests import CASES, NEEDLE, PLAIN, WEATHER
from tests.real.replies import whole

pytestmark = pytest.mark.process

TOOLS = ("--enable-auto-tool-choice", "--reasoning-parser", "qwen3", "--tool-call-parser")
SPECULATIVE = json.dumps({"method": "ngram", "num_speculative_tokens": 4})
CITY = {"messages": [{"role": "user", "content": "What do you know of Zanzibar?"}], "temperature": 0}
RIGHT_CALL = CASES["weather-tokyo/think/hermes/auto"]["expect"]
GREETING = CASES["hello/plain"]["expect"]["content"]


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fake]:
    flags = (*TOOLS, "hermes", "--enable-prompt-tokens-details", "--speculative-config", SPECULATIVE)
    with running(tmp_path_factory.mktemp("fake"), "--demo", *flags) as one:
        yield one


@pytest.fixture(autouse=True)
def _right(fake: Fake) -> Iterator[None]:
    yield
    fake.faults()


def test_a_call_dropped_only_when_streamed(fake: Fake) -> None:
    """The whole reply has it, the stream has not, and says stop."""
    fake.faults(answer="drop-streamed-call")
    assert reply(fake, WEATHER) == RIGHT_CALL
    streamed = reply(fake, WEATHER, stream=True)
    assert (streamed["tool_calls"], streamed["finish_reason"]) == ([], "stop")


def test_an_empty_200(fake: Fake) -> None:
    """No text in a well-formed reply, and no body at all."""
    fake.faults(answer="empty-text")
    assert reply(fake, PLAIN)["content"] == ""
    assert json.loads(ask(fake, {"prompt": "x"}, TEXT)[1])["choices"][0]["text"] == ""
    fake.faults(generate="empty")
    assert ask(fake, PLAIN) == (200, "")


def _logprobs(fake: Fake) -> list[float]:
    text = ask(fake, {"prompt": "The capital of Peru is Lima.", "prompt_logprobs": 0, "max_tokens": 1}, TEXT)[1]
    numbers = json.loads(text)["choices"][0]["prompt_logprobs"][1:]
    return [next(iter(one.values()))["logprob"] for one in numbers]


def test_logprobs_drift(fake: Fake) -> None:
    """They repeat exactly; shifted and swapped ones lie far off, those of a near tie close by, NaN is no number."""
    right = _logprobs(fake)
    assert right == _logprobs(fake)
    for name, low, high in (("shifted-logprobs", 0.4, 1.1), ("swapped-weights", 0.4, 20), ("near-tie", 0, 0.006)):
        fake.faults(answer=name)
        found = _logprobs(fake)
        assert low <= max(abs(one - two) for one, two in zip(right, found, strict=True)) <= high
        assert found != right
    fake.faults(answer="nan-logprobs")
    assert all(one != one for one in _logprobs(fake))
    fake.faults(answer="nan-refused")
    assert ask(fake, PLAIN | {"logprobs": True})[0] == 500
    assert ask(fake, PLAIN | {"prompt_logprobs": 0})[0] == 500
    assert ask(fake, PLAIN)[0] == 200


def test_shifted_logprobs_leave_the_text(fake: Fake) -> None:
    """Right words, wrong numbers."""
    fake.faults(answer="shifted-logprobs")
    assert reply(fake, PLAIN)["content"] == GREETING


def test_near_ties(fake: Fake) -> None:
    """An answer that is no golden one differs now and then in one token; golden ones never do."""
    fake.faults(answer="near-tie")
    assert {reply(fake, PLAIN)["content"] for _ in range(6)} == {GREETING}
    found = {reply(fake, CITY)["content"] for _ in range(6)} | {reply(fake, CITY)["reasoning"] for _ in range(6)}
    assert 2 < len(found) <= 4
    numbers = json.loads(ask(fake, CITY | {"logprobs": True, "top_logprobs": 2})[1])["choices"][0]["logprobs"][
        "content"
    ]
    gaps = [one["top_logprobs"][0]["logprob"] - one["top_logprobs"][1]["logprob"] for one in numbers]
    assert sorted(gap < 0.1 for gap in gaps) == [False] * (len(gaps) - 1) + [True]


def test_a_prefix_hit_that_gives_other_words(fake: Fake) -> None:
    """Cold it is right, after a hit it is not."""
    cold, hit = NEEDLE | {"cache_salt": "one"}, NEEDLE | {"cache_salt": "one"}
    fake.faults(answer="prefix-hit-differs")
    assert reply(fake, cold)["content"] == "The key word is amber."
    assert reply(fake, hit)["content"] != "The key word is amber."
    assert metric(fake, "prefix_cache_hits_total") >= 256


def test_a_lost_needle(fake: Fake) -> None:
    """Above the limit another word is found; below it the right one."""
    fake.faults(answer="needle-lost", needle_limit=400)
    assert reply(fake, NEEDLE)["content"] == "The key word is amber."
    fake.faults(answer="needle-lost", needle_limit=300)
    assert reply(fake, NEEDLE)["content"] == "The key word is copper."


def test_another_requests_answer_on_a_kept_connection(fake: Fake) -> None:
    """The first answer of a connection is right, the second is the first one again; a fresh connection is right."""
    fake.faults(answer="other-request")
    kept = http.client.HTTPConnection(fake.host, fake.port, timeout=30)
    found = []
    try:
        for body in (PLAIN, NEEDLE):
            kept.request("POST", CHAT, json.dumps(body))
            found.append(whole(kept.getresponse().read().decode())["content"])
    finally:
        kept.close()
    assert found == [GREETING, GREETING]
    assert reply(fake, NEEDLE)["content"] == "The key word is amber."


def test_another_tokenizer(fake: Fake) -> None:
    """The same text has other ids."""
    right = json.loads(ask(fake, {"prompt": "Hello"}, "/tokenize")[1])["tokens"]
    fake.faults(tokenizer="shifted")
    assert right != json.loads(ask(fake, {"prompt": "Hello"}, "/tokenize")[1])["tokens"]


def test_acceptance_drops(fake: Fake) -> None:
    """Of the drafts of one answer fewer are accepted."""

    def share() -> float:
        before = [metric(fake, f"spec_decode_num_{one}_tokens_total") for one in ("accepted", "draft")]
        reply(fake, CASES["repeat-lamp/plain"]["request"])
        after = [metric(fake, f"spec_decode_num_{one}_tokens_total") for one in ("accepted", "draft")]
        return (after[0] - before[0]) / (after[1] - before[1])

    assert share() == pytest.approx(0.8, abs=0.01)
    fake.faults(acceptance=0.3)
    assert share() == pytest.approx(0.3, abs=0.01)


def test_refusals_and_errors_in_streams(fake: Fake) -> None:
    """A status for everyone, and an error object where a chunk belongs."""
    for status in (429, 500):
        fake.faults(refuse=status)
        assert ask(fake, PLAIN)[0] == status
    fake.faults(generate="error-chunk")
    lines = [one for one in ask(fake, PLAIN, stream=True)[1].splitlines() if one]
    assert json.loads(lines[1][6:])["choices"][0]["delta"] == {"content": "Hello"}
    assert "error" in json.loads(lines[2][6:])


def test_leaks(fake: Fake, tmp_path: Path) -> None:
    """Resident memory, the ledger and the KV gauge grow while they are told to."""
    folder = tmp_path / "vram"
    with running(tmp_path, "--vram-ledger", str(folder), "--vram-bytes", "1000") as leaking:
        worker = leaking.named("Worker")
        resident = _resident(leaking.pid)
        leaking.faults(rss_leak=1 << 26, vram_leak=1 << 20, kv_leak=0.2)
        until(lambda: _resident(leaking.pid) > resident + (1 << 24))
        until(lambda: ledger.holders(str(folder))[0][worker] > 1 << 18)
        until(lambda: metric(leaking, "kv_cache_usage_perc") > 0.1)


def _resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_first_request_kills_it(tmp_path: Path) -> None:
    """Ready and well, until somebody asks for something; the log says why."""
    with running(tmp_path, "--demo") as doomed:
        doomed.faults(first_request_kills=True)
        assert ask(doomed, {"prompt": "Hello"}, TEXT)[0] == 500
        assert doomed.process.wait(60) == 0
        assert "TypeError" in doomed.log.read_text()
        assert not alive(doomed.pid)
