"""The demo model on the real vLLM. Three servers in all, as each takes half a minute to start."""

from __future__ import annotations

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from genesisd.demo.locate import DemoModel, locate
from tests.real.replies import Case, ask, expected, fits, golden_cases

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.real.serving import RealVllm, Server

ROOT = Path(__file__).parents[2]
NGRAM = {"method": "ngram", "num_speculative_tokens": 4, "prompt_lookup_max": 4, "prompt_lookup_min": 2}
MODEL = locate()
CASES = golden_cases(MODEL.path)


def prefix_cache_is_hit(server: Server) -> None:
    """Two blocks of 128 tokens of the needle's story come from the cache when it is told again."""
    needle = next(case for case in CASES if case["kind"] == "needle")
    server.chat(needle["request"])
    usage = json.loads(server.chat(needle["request"]))["usage"]
    assert usage["prompt_tokens"] > 256
    assert usage["prompt_tokens_details"]["cached_tokens"] == 256


def drafts_are_accepted(server: Server) -> None:
    """The repeating answer is guessed ahead."""
    song = next(case for case in CASES if case["kind"] == "repeat")
    before = _counter(server, "vllm:spec_decode_num_accepted_tokens_total")
    server.chat(song["request"])
    assert _counter(server, "vllm:spec_decode_num_accepted_tokens_total") > before


def greedy_is_the_default(server: Server) -> None:
    """A request that names no temperature gets the golden answer as well."""
    hello = next(case for case in CASES if case["kind"] == "plain")
    assert ask(server, {"request": _without_temperature(hello)}, stream=False) == hello["expect"]


def _without_temperature(case: Case) -> Case:
    return {key: value for key, value in case["request"].items() if key != "temperature"}


def _counter(server: Server, name: str) -> float:
    lines = [line for line in server.get("/metrics").splitlines() if line.startswith(name + "{")]
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)


@dataclass(frozen=True)
class Setting:
    """One way to serve the model, and a feature that must be seen at work in it."""

    parser: str
    strict: bool
    feature: Callable[[Server], None]
    args: tuple[str, ...] = ()

    def cases(self) -> list[Case]:
        """What to ask. The loose server is slow, as it speculates: only what the strict one does not show."""
        fitting = [case for case in CASES if fits(case, self.parser, strict=self.strict)]
        if self.strict:
            return fitting
        return [case for case in fitting if case["needs"]["strict_tool_calling"] is False or case["kind"] == "repeat"]


SETTINGS = {
    "hermes": Setting("hermes", True, prefix_cache_is_hit, ("--enable-prompt-tokens-details",)),
    "hermes-loose-ngram": Setting("hermes", False, drafts_are_accepted, ("--speculative-config", json.dumps(NGRAM))),
    "qwen3-coder": Setting("qwen3_coder", True, greedy_is_the_default),
}


@pytest.fixture(scope="module", params=SETTINGS)
def served(request: pytest.FixtureRequest, serve: Callable[..., object]) -> Iterator[tuple[Setting, Server]]:
    setting = SETTINGS[request.param]
    args = (
        *("--enable-auto-tool-choice", "--tool-call-parser", setting.parser, "--reasoning-parser", "qwen3"),
        *("--chat-template", str(MODEL.template(setting.parser)), *setting.args),
    )
    with serve(MODEL.path, args, {"VLLM_ENFORCE_STRICT_TOOL_CALLING": str(int(setting.strict))}) as server:
        yield setting, server


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_every_golden_case_is_answered_exactly(served: tuple[Setting, Server], stream: bool) -> None:
    """Content, reasoning, calls and finish reason are those of golden.json."""
    setting, server = served
    cases = setting.cases()
    assert len(cases) >= 40
    with ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda case: ask(server, case, stream=stream), cases))
    wrong = [
        f"{case['id']}: {reply}, expected {right}"
        for case, reply in zip(cases, replies, strict=True)
        if reply != (right := expected(case, setting.parser, stream=stream))
    ]
    assert not wrong, "\n".join([f"{len(wrong)} of {len(cases)} wrong", *wrong[:10]])


def test_the_feature_is_at_work(served: tuple[Setting, Server]) -> None:
    """Prefix cache, speculation and default sampling show in what the server counts or says."""
    setting, server = served
    setting.feature(server)


def test_committed_weights_hold_every_answer_with_a_margin(real_vllm_env: RealVllm) -> None:
    """The trainer's own check passes on the committed folder, in bf16."""
    model: DemoModel = locate()
    command = [str(real_vllm_env.python), "-B", "-m", "genesisd.demo.train", "--check", str(model.path)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "HF_HUB_OFFLINE": "1"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
