"""Bundles of evidence of the real vLLM: stacks of a hung engine, and nothing that users wrote or that is secret."""

from __future__ import annotations

import json
import os
import signal
import time
import urllib.error
import urllib.request
from functools import partial
from pathlib import Path

import aiohttp
import pytest

from genesisd.demo.locate import locate
from genesisd.incidents.redact import Redactor
from genesisd.incidents.stacks import stacks as look
from genesisd.supervisor.model import Reason
from genesisd.supervisor.spec import WorkerSpec
from genesisd.wiring.evidence import FolderEvidence
from genesisd.wiring.secret_values import known_secrets
from tests.fakes.supervision import FakeClock, FakeRunner, FakeSink, Log, life

pytestmark = pytest.mark.real

PROMPT = "c4n4ry-prompt-of-a-user"
KEY = "c4n4ry-api-key"
ENVIRONMENT = "c4n4ry-of-the-environment"
HEADER = "c4n4ry-of-a-header"
CANARIES = (PROMPT, KEY, ENVIRONMENT, HEADER)
TREE = ("VLLM::EngineCore", "VLLM::Worker")


def ask(url: str, path: str, body: object) -> int:
    sent = json.dumps(body).encode()
    headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}", "x-canary-token": HEADER}
    try:
        with urllib.request.urlopen(urllib.request.Request(url + path, sent, headers), timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def tree(leader: int) -> dict[int, str]:
    """Pids of the session, with their titles."""
    found = {}
    for path in Path("/proc").iterdir():
        try:
            session = (path / "stat").read_text().rpartition(")")[2].split()[3]
            title = (path / "cmdline").read_bytes().decode(errors="replace")
        except (OSError, IndexError):
            continue
        if session == str(leader):
            found[int(path.name)] = title.replace("\0", " ")
    return found


def use_it(url: str) -> None:
    """What users do: right requests, wrong ones, a stream, one with words where numbers belong."""
    plain = {"model": "tiny", "prompt": PROMPT, "max_tokens": 4}
    chat = {"model": "tiny", "messages": [{"role": "user", "content": PROMPT}], "max_tokens": 4}
    assert ask(url, "/v1/completions", plain) == 200
    assert ask(url, "/v1/completions", {**plain, "stop": [PROMPT], "stream": True, "user": PROMPT}) == 200
    for body in (
        {**plain, "max_tokens": PROMPT},
        {**plain, "prompt": {"a": PROMPT}},
        {**plain, "temperature": -5},
        [PROMPT],
    ):
        assert ask(url, "/v1/completions", body) >= 400
    for body in ({**chat, "messages": [{"role": PROMPT, "content": 5}]}, {**chat, "tools": [{"x": PROMPT}]}):
        assert ask(url, "/v1/chat/completions", body) >= 400
    ask(url, "/v1/chat/completions", chat)
    ask(url, f"/v1/nothing?api_key={KEY}", {})


async def test_a_bundle_of_the_real_engine_holds_no_prompt_and_no_secret(serve, tmp_path, monkeypatch):
    """It logs requests in full, is stopped like a hung one, then killed in the middle of a request."""
    monkeypatch.setattr("genesisd.wiring.evidence.stacks", partial(look, seconds=60))  # on whatever machine
    args = ("--enable-log-requests", "--api-key", KEY)
    extra = {"VLLM_LOGGING_LEVEL": "DEBUG", "MY_HF_TOKEN": ENVIRONMENT}
    with serve(locate().path, args, extra) as server:
        use_it(server.url)
        log = server.log.read_text(errors="replace")
        assert PROMPT in log, "the log must hold what is to be withheld"
        members = tree(server.process.pid)
        spec = WorkerSpec(pin="x", model="demo:tiny", args=args, env=extra)
        scene = Scene(tmp_path, server.port, spec, server.log)
        engine = next(pid for pid, title in members.items() if TREE[0] in title)

        os.kill(engine, signal.SIGSTOP)
        try:
            hung = await scene.save(list(members), "hung")
        finally:
            os.kill(engine, signal.SIGCONT)
        stacks = (hung / "stacks.txt").read_text()
        assert f"Process {engine}" in stacks
        assert "run_busy_loop" in stacks, stacks
        assert "vllm:num_requests_running" in (hung / "metrics.txt").read_text()

        os.kill(engine, signal.SIGKILL)
        server.process.wait(240)
        crashed = await scene.save(list(tree(server.process.pid)), "engine-dead")
    for bundle in (hung, crashed):
        for file in bundle.iterdir():
            content = file.read_text()
            assert not [canary for canary in CANARIES if canary in content], file
    assert "EngineDeadError" in (crashed / "log.txt").read_text()
    assert "request_logger.py" in (hung / "log.txt").read_text()


class Scene:
    """The evidence of one worker, beside the real processes."""

    def __init__(self, folder: Path, port: int, spec: WorkerSpec, log: Path) -> None:
        self._folder, self._port, self._spec, self._log = folder, port, spec, log
        self._sink, self._runner = FakeSink(), FakeRunner(Log(), FakeClock())

    async def save(self, pids: list[int], code: str) -> Path:
        self._runner.left["w"] = pids
        self._runner.lines = self._log.read_text(errors="replace").splitlines()
        self._runner.lives["w"] = life("w", 1, self._port)
        redact = Redactor(live=lambda: known_secrets({}, {"w": self._spec}))
        began = time.monotonic()
        async with aiohttp.ClientSession() as session:
            evidence = FolderEvidence(
                self._folder,
                self._runner,
                session,
                self._sink,
                FakeClock(),
                redact=redact,
                specs=lambda: {"w": self._spec},
            )
            await evidence.save("w", 1, Reason(code, "x"))
        print(f"{code}: {time.monotonic() - began:.2f} s")
        return Path(self._sink.events[-1][2]["path"])
