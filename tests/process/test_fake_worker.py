"""The fake worker does what vLLM 0.32 was seen to do."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.helpers.fake import PROGRAM, Fake, alive, cmdline, running, until
from tests.helpers.fakevllm import ledger

pytestmark = pytest.mark.process


def ask(fake: Fake, path: str, body: dict | None = None, timeout: float = 20) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(fake.host, fake.port, timeout=timeout)
    try:
        connection.request("POST" if body else "GET", path, json.dumps(body) if body else None)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def chat(fake: Fake, **more) -> tuple[int, dict]:
    status, raw = ask(fake, "/v1/chat/completions", {"messages": [{"role": "user", "content": "hi"}], **more})
    return status, json.loads(raw)


def metric(fake: Fake, name: str) -> float:
    line = next(one for one in ask(fake, "/metrics")[1].decode().splitlines() if one.startswith(name + "{"))
    return float(line.split()[-1])


def test_shape(tmp_path: Path) -> None:
    """The tree has vLLM's roles, titles and one session, and the titled processes lose their environment."""
    with running(tmp_path, "--workers", "2") as fake:
        roles = [cmdline(pid) for pid in fake.members()]
        assert sum("resource_tracker" in one for one in roles) == 1
        assert {one for one in roles if one.startswith(fake.title)} == {
            f"{fake.title}::{role}" for role in ("EngineCore", "Worker_TP0", "Worker_TP1")
        }
        core = fake.named("EngineCore")
        assert b"PATH" not in Path(f"/proc/{core}/environ").read_bytes()
        assert os.getsid(core) == fake.pid


def test_generates_through_the_engine(tmp_path: Path) -> None:
    """A chat has its words, finish reason and usage, and the counters move by it."""
    with running(tmp_path) as fake:
        status, answer = chat(fake)
        assert status == 200
        assert answer["choices"][0]["finish_reason"] == "stop"
        assert answer["usage"]["completion_tokens"] == 8
        assert metric(fake, "vllm:generation_tokens_total") == 8
        assert metric(fake, "vllm:iteration_tokens_total_count") == 8
        assert chat(fake, max_tokens=3)[1]["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("role", ["EngineCore", "Worker"])
def test_stopped_engine_hangs_while_health_says_200(tmp_path: Path, role: str) -> None:
    """SIGSTOP freezes generation and counters, not /health; SIGCONT completes the stuck request."""
    with running(tmp_path) as fake:
        fake.send(role, signal.SIGSTOP)
        answers: list[int] = []
        stuck = threading.Thread(target=lambda: answers.append(chat(fake)[0]))
        stuck.start()
        until(lambda: json.loads(ask(fake, "/load")[1])["server_load"] == 1)
        assert ask(fake, "/health")[0] == 200
        assert metric(fake, "vllm:num_requests_running") == 0
        assert not answers
        fake.send(role, signal.SIGCONT)
        stuck.join()
        assert answers == [200]


@pytest.mark.parametrize("role", ["EngineCore", "Worker"])
def test_engine_death_ends_the_leader_with_zero(tmp_path: Path, role: str) -> None:
    """SIGKILL of an engine process ends the API server with status 0 and leaves no tree."""
    with running(tmp_path) as fake:
        fake.send(role, signal.SIGKILL)
        assert fake.process.wait(60) == 0
        until(lambda: not fake.members())


def test_killed_leader_leaves_orphans(tmp_path: Path) -> None:
    """SIGKILL of the API server leaves EngineCore, Worker and the tracker alive."""
    with running(tmp_path) as fake:
        others = [pid for pid in fake.members() if pid != fake.pid]
        fake.process.kill()
        fake.process.wait()
        assert len(others) == 3
        assert all(alive(pid) for pid in others)


def test_term_drains(tmp_path: Path) -> None:
    """With --shutdown-timeout a request in flight is completed after SIGTERM."""
    with running(tmp_path, "--shutdown-timeout", "120", "--token-delay", "0.05") as fake:
        answers: list[int] = []
        busy = threading.Thread(target=lambda: answers.append(chat(fake, max_tokens=200, ignore_eos=True)[0]))
        busy.start()
        until(lambda: metric(fake, "vllm:num_requests_running") == 1)
        fake.process.terminate()
        busy.join()
        assert answers == [200]
        assert fake.process.wait(60) == 0


def test_ignored_term(tmp_path: Path) -> None:
    """--ignore-term leaves every member alive."""
    with running(tmp_path, "--ignore-term") as fake:
        before = fake.members()
        fake.process.terminate()
        until(lambda: "SIGTERM ignored" in fake.log.read_text())
        assert fake.members() == before


def test_escaping_workers(tmp_path: Path) -> None:
    """Workers can leave the session and the parent."""
    with running(tmp_path, "--setsid-workers", "--double-fork-worker") as fake:
        core = fake.named("EngineCore")
        escaped, reparented = fake.named("Worker_TP0"), fake.named("Worker_TP1")
        assert os.getsid(escaped) == escaped
        parent = Path(f"/proc/{reparented}/stat").read_text().rpartition(")")[2].split()[1]
        assert int(parent) != core


def test_ledger_follows_the_holder(tmp_path: Path) -> None:
    """An entry of the ledger lives exactly as long as its worker."""
    folder = tmp_path / "vram"
    with running(
        tmp_path, "--workers", "2", "--vram-ledger", str(folder), "--gpus", "0,1", "--vram-bytes", "7"
    ) as fake:
        first, second = fake.named("Worker_TP0"), fake.named("Worker_TP1")
        assert ledger.holders(str(folder)) == {0: {first: 7}, 1: {second: 7}}
        fake.process.kill()
        assert ledger.holders(str(folder)) == {0: {first: 7}, 1: {second: 7}}
        os.kill(first, signal.SIGKILL)
        until(lambda: first not in ledger.holders(str(folder)).get(0, {}))


def test_prefill_moves_only_the_gauge(tmp_path: Path) -> None:
    """During a long prefill the counters stand still, the KV gauge climbs and another request starves."""
    with running(tmp_path, "--prefill-blocks", "6000") as fake:
        long = {"prompt": "word " * 100, "max_tokens": 1}
        with socket.create_connection((fake.host, fake.port)) as stuck:
            raw = json.dumps(long).encode()
            head = f"POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(raw)}\r\n\r\n"
            stuck.sendall(head.encode() + raw)
            first = until(lambda: metric(fake, "vllm:kv_cache_usage_perc"))
            until(lambda: metric(fake, "vllm:kv_cache_usage_perc") > first)
            assert metric(fake, "vllm:iteration_tokens_total_count") == 0
            assert metric(fake, "vllm:prompt_tokens_total") == 0
            with pytest.raises(TimeoutError):
                ask(fake, "/v1/completions", {"prompt": "x", "max_tokens": 1}, timeout=0.6)


def test_faults_flip_live(tmp_path: Path) -> None:
    """The control file changes answers without a restart."""
    with running(tmp_path) as fake:
        fake.faults(health=503, running=106, freeze_counters=True)
        assert ask(fake, "/health")[0] == 503
        assert metric(fake, "vllm:num_requests_running") == 106
        assert chat(fake)[0] == 200
        assert metric(fake, "vllm:generation_tokens_total") == 0
        fake.faults(generate="error")
        assert chat(fake)[0] == 500
        fake.faults(generate="empty")
        assert ask(fake, "/v1/completions", {"prompt": "x"}) == (200, b"")
        fake.faults()
        assert ask(fake, "/health")[0] == 200
        assert metric(fake, "vllm:generation_tokens_total") == 8


def test_a_client_that_hangs_up_is_forgotten(tmp_path: Path) -> None:
    """A hung request leaves /load when its client goes."""
    with running(tmp_path) as fake:
        fake.faults(generate="hang")
        with pytest.raises(TimeoutError):
            ask(fake, "/v1/completions", {"prompt": "x"}, timeout=0.3)
        until(lambda: json.loads(ask(fake, "/load")[1])["server_load"] == 0)


def test_tracker_removes_what_it_knows(tmp_path: Path) -> None:
    """The resource tracker outlives the others by a moment and removes their shared memory."""
    with running(tmp_path, "--shm", "2") as fake:
        mine = [
            one
            for one in Path("/dev/shm").iterdir()
            if one.name.endswith((f"_fake_{fake.pid}_0", f"_fake_{fake.pid}_1"))
        ]
        assert len(mine) == 4
        fake.process.terminate()
        until(lambda: not any(one.exists() for one in mine))


def test_deaths(tmp_path: Path) -> None:
    """Exit codes: told, signalled, at boot, unknown flag, port taken."""

    def end(*flags: str) -> int:
        with running(tmp_path, *flags, wait=False) as fake:
            return fake.process.wait(60)

    assert end("--die-after", "0.1", "--exit-code", "7") == 7
    assert end("--die-after", "0.1", "--die-signal", "11") == -11
    assert end("--boot-error", "ValueError: No available memory for the cache blocks") == 1
    assert end("--no-such-flag") == 2
    with running(tmp_path) as first, running(tmp_path, port=first.port, wait=False) as second:
        assert second.process.wait(60) == 1
        assert "Address already in use" in second.log.read_text()
        until(lambda: not second.members())


def test_bare(tmp_path: Path) -> None:
    """--bare is one process that generates; with --no-server it only waits."""
    with running(tmp_path, "--bare") as fake:
        assert fake.members() == [fake.pid]
        assert chat(fake)[0] == 200
    with running(tmp_path, "--bare", "--no-server", wait=False) as fake:
        until(lambda: "API server version" in fake.log.read_text())
        fake.process.terminate()
        assert fake.process.wait(60) == 0


def test_help_needs_nothing_but_the_standard_library() -> None:
    """The program runs isolated from site-packages."""
    assert (
        subprocess.run([sys.executable, "-S", str(PROGRAM), "--help"], capture_output=True, check=False).returncode == 0
    )
