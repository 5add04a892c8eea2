"""The same questions to the fake and to the real server: what tests learn from the fake must be true of vLLM."""

import json
import os
import re
import signal
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.fake import cmdline, running, until

MODEL = Path(__file__).parents[2] / "genesisd" / "demo" / "tiny"
TITLE = "genesis:w3:7"
FAMILIES = (
    "vllm:iteration_tokens_total_count", "vllm:prompt_tokens_total", "vllm:generation_tokens_total",
    "vllm:kv_cache_usage_perc", "vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:request_success_total",
)  # fmt: skip


@dataclass
class Engine:
    """A server, fake or real."""

    url: str
    leader: int
    wait: Callable[[], int]

    def ask(self, path: str, body: Any = None, method: str | None = None) -> tuple[int, str]:
        sent = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, sent, {"content-type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def json(self, path: str, body: Any = None) -> Any:
        status, text = self.ask(path, body)
        assert status == 200, text
        return json.loads(text)

    def series(self) -> dict[str, tuple[set[str], float]]:
        """Metric name -> label names and value, of the families that probes and exporters read."""
        found = {}
        for line in self.ask("/metrics")[1].splitlines():
            name, _, rest = line.partition("{")
            if name in FAMILIES:
                found[name] = (set(re.findall(r'(\w+)="', rest)), float(line.split()[-1]))
        return found

    def members(self) -> list[int]:
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
        return [pid for pid in pids if _session(pid) == self.leader]

    def core(self) -> int:
        return next(pid for pid in self.members() if cmdline(pid).endswith("::EngineCore"))


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


@pytest.fixture(scope="module", params=["fake", pytest.param("real", marks=pytest.mark.real)])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    if request.param == "fake":
        with running(tmp_path_factory.mktemp("fake"), title=TITLE) as fake:
            yield Engine(fake.url, fake.pid, lambda: fake.process.wait(60))
        return
    serve = request.getfixturevalue("serve")
    with serve(MODEL, ("--enable-server-load-tracking",), {"VLLM_PROCESS_NAME_PREFIX": TITLE}) as server:
        yield Engine(server.url, server.process.pid, lambda: server.process.wait(60))


def test_simple_endpoints(engine: Engine) -> None:
    """/health and /ping are empty 200s; /version, /load and /v1/models have their shape; others are 404."""
    assert engine.ask("/health") == (200, "")
    assert engine.ask("/ping") == (200, "")
    assert engine.json("/version")["version"].startswith("0.32.0")
    assert engine.json("/load") == {"server_load": 0}
    card = engine.json("/v1/models")["data"][0]
    assert card["id"] == "tiny"
    assert {"object", "owned_by", "root", "max_model_len"} <= card.keys()
    assert engine.ask("/nothing")[0] == 404


def test_completion(engine: Engine) -> None:
    """A completion has text, a finish reason and usage."""
    answer = engine.json("/v1/completions", {"model": "tiny", "prompt": "Hello", "max_tokens": 3, "ignore_eos": True})
    assert answer["object"] == "text_completion"
    choice = answer["choices"][0]
    assert {"index", "text", "logprobs", "finish_reason", "stop_reason"} <= choice.keys()
    assert choice["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] == 3
    assert answer["usage"]["total_tokens"] == answer["usage"]["prompt_tokens"] + 3


@pytest.mark.parametrize("chat", [False, True])
def test_stream(engine: Engine, chat: bool) -> None:
    """A stream is data lines of chunks, the last with the finish reason, then usage, then [DONE]."""
    body: dict[str, Any] = {"model": "tiny", "max_tokens": 3, "ignore_eos": True, "stream": True}
    body["stream_options"] = {"include_usage": True}
    body |= {"messages": [{"role": "user", "content": "Hello"}]} if chat else {"prompt": "Hello"}
    status, text = engine.ask("/v1/chat/completions" if chat else "/v1/completions", body)
    assert status == 200
    lines = [line for line in text.splitlines() if line]
    assert all(line.startswith("data: ") for line in lines)
    assert lines[-1] == "data: [DONE]"
    *chunks, usage = [json.loads(line[6:]) for line in lines[:-1]]
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert all(one["choices"][0]["finish_reason"] is None for one in chunks[:-1])
    assert {one["object"] for one in chunks} == {"chat.completion.chunk" if chat else "text_completion"}
    if chat:
        assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"


def test_unknown_model(engine: Engine) -> None:
    """An unknown model is 404 with an error object."""
    status, text = engine.ask("/v1/completions", {"model": "other", "prompt": "Hello"})
    assert status == 404
    assert json.loads(text)["error"].keys() >= {"message", "type", "param", "code"}


def test_metrics(engine: Engine) -> None:
    """The series that probes read exist with these labels, and count what was generated."""
    before = engine.series()
    assert before.keys() == set(FAMILIES)
    for name in FAMILIES:
        extra = {"finished_reason"} if name == "vllm:request_success_total" else set()
        assert before[name][0] == {"engine", "model_name"} | extra
    engine.json("/v1/completions", {"model": "tiny", "prompt": "Hello", "max_tokens": 5, "ignore_eos": True})
    grown = {name: engine.series()[name][1] - before[name][1] for name in FAMILIES}
    assert grown["vllm:generation_tokens_total"] == 5
    assert grown["vllm:prompt_tokens_total"] >= 1
    assert grown["vllm:iteration_tokens_total_count"] >= 5


def test_shape(engine: Engine) -> None:
    """Leader, tracker, EngineCore and Worker share the leader's session; titles overwrite the environment."""
    titles = {cmdline(pid) for pid in engine.members()}
    assert {f"{TITLE}::EngineCore", f"{TITLE}::Worker"} <= titles
    assert any("resource_tracker" in title for title in titles)
    assert Path(f"/proc/{engine.core()}/environ").read_bytes().startswith(b"\0" * 64)
    assert Path(f"/proc/{engine.core()}/comm").read_text().strip() == f"{TITLE}::EngineCore"[:15]


def test_stopped_core(engine: Engine) -> None:
    """A stopped EngineCore: /health 200, /load counts, counters stand, and SIGCONT completes the request."""
    core, answers = engine.core(), []
    body = {"model": "tiny", "prompt": "Hello", "max_tokens": 2}
    stuck = threading.Thread(target=lambda: answers.append(engine.ask("/v1/completions", body)[0]))
    os.kill(core, signal.SIGSTOP)
    try:
        before = engine.series()
        stuck.start()
        until(lambda: engine.json("/load")["server_load"] == 1)
        assert engine.ask("/health")[0] == 200
        assert engine.series() == before
        assert not answers
    finally:
        os.kill(core, signal.SIGCONT)
    stuck.join()
    assert answers == [200]


def test_killed_core(engine: Engine) -> None:
    """SIGKILL of EngineCore ends the API server with status 0. Last: it spends the server."""
    os.kill(engine.core(), signal.SIGKILL)
    assert engine.wait() == 0
