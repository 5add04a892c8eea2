"""A real vLLM server for a test: started, waited for, and swept as a whole."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.helpers.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

START_SECONDS = 400
STOP_SECONDS = 20
MODEL_NAME = "tiny"
QUIET = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_LOGGING_COLOR": "0",
}
ARGUMENTS = (
    *("--served-model-name", MODEL_NAME, "--host", "127.0.0.1", "--enforce-eager"),
    *("--max-model-len", "1024", "--max-num-seqs", "4", "--seed", "0"),
)


@dataclass(frozen=True)
class RealVllm:
    """The environment of a pin."""

    python: Path
    vllm: Path


@dataclass(frozen=True)
class Server:
    """A server that answered /health with 200."""

    url: str
    port: int
    process: subprocess.Popen[bytes]
    log: Path

    def get(self, path: str) -> str:
        """Body of a GET."""
        with urllib.request.urlopen(self.url + path, timeout=60) as answer:
            return answer.read().decode()

    def chat(self, body: Mapping[str, Any], *, stream: bool = False) -> str:
        """Raw reply to a chat completion; a refusal is raised with the server's words."""
        sent = json.dumps({**body, "model": MODEL_NAME, "stream": stream}).encode()
        request = urllib.request.Request(self.url + "/v1/chat/completions", sent, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"HTTP {error.code}: {error.read().decode()}") from error


@contextmanager
def serving(
    env: RealVllm, model: Path, args: Sequence[str] = (), extra: Mapping[str, str] | None = None
) -> Iterator[Server]:
    """Serve ``model``; everything that the server writes lies in one short folder that goes with it."""
    # vLLM's Unix sockets are TMPDIR + 37 characters and may have 107: pytest's tmp_path is too long.
    with tempfile.TemporaryDirectory(prefix="gv-", dir="/tmp") as folder:
        root = Path(folder)
        port = free_port()
        command = [str(env.vllm), "serve", str(model), "--port", str(port), *ARGUMENTS, *args]
        log = root / "log"
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command, env=_environment(root, extra or {}), stdout=sink, stderr=sink, start_new_session=True
            )
        server = Server(f"http://127.0.0.1:{port}", port, process, log)
        try:
            _wait_until_up(server)
            yield server
        finally:
            _end(process)


def _environment(root: Path, extra: Mapping[str, str]) -> dict[str, str]:
    homes = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "VLLM_CACHE_ROOT", "VLLM_CONFIG_ROOT", "HF_HOME")
    caches = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TMPDIR")
    folders = {}
    for name in (*homes, *caches):
        path = root / name.lower()
        path.mkdir()
        folders[name] = str(path)
    return {**os.environ, **QUIET, **folders, **extra}


def _wait_until_up(server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if server.process.poll() is not None:
            raise AssertionError(f"vLLM ended with {server.process.returncode}:\n{_tail(server.log)}")
        with suppress(OSError):
            server.get("/health")
            return
        time.sleep(0.2)
    raise AssertionError(f"vLLM did not answer within {START_SECONDS} s:\n{_tail(server.log)}")


def _tail(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-40:])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask, then insist; then whatever is left of its session, which is ours as we made it."""
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    deadline = time.monotonic() + STOP_SECONDS
    # The engine's processes end a second or two after the leader; what then still lives will not end by itself.
    while left := session(process.pid):
        if time.monotonic() > deadline:
            for pid in left:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


def session(leader: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(fields[3]) == leader and fields[0] not in "ZX":
                    found.append(int(entry.name))
    return found
