"""A real vLLM under a real daemon: its box, requests that run while something is killed, and what a run leaves behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import tempfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from tests.helpers.box import Box, alive, command, descendants, free_port
from tests.real.serving import Server

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "etc" / "examples" / "cpu.yaml"
CACHE = Path(os.environ.get("GENESISD_CACHE", "~/.cache/genesisd")).expanduser()
START_SECONDS = 300
"""A start takes half a minute; a loaded machine may need far more."""
LONG = 900
"""Tokens of each answer in a stream that is still running when something is killed: with those of the prompt, nearly
all that the model has positions for. An idle machine makes them in a second."""
_VLLMS = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}$|vllm|torch|triton|psm_|sem\.|pymp-")
"""What vLLM leaves in /tmp: its sockets, and folders named after their makers."""


def example() -> dict[str, Any]:
    """The demonstration's own worker, on free ports and with time for a loaded machine."""
    settings: dict[str, Any] = yaml.safe_load(EXAMPLE.read_text())["workers"]["tiny"]
    return settings | {
        "listen": f"127.0.0.1:{free_port()}",
        "front": {"hold": f"{START_SECONDS}s"},
        "stop": {"drain": "240s"},
    }


@contextmanager
def real_box(workers: Mapping[str, Any]) -> Iterator[Box]:
    """A started daemon over workers of the shared pin; nothing of it is left afterwards."""
    with tempfile.TemporaryDirectory(prefix="gr-", dir="/tmp") as folder:
        box = Box(Path(folder), workers, {"cache_dir": str(CACHE)})
        box.settings["pins"] = str(ROOT / "etc" / "pins.yaml")
        box.write()
        box.start()
        try:
            yield box
        except BaseException:
            _clear(box)
            raise
        box.finish()


def _clear(box: Box) -> None:
    """After a failure. Engine processes show neither the box's folder nor, once orphaned, whose they are."""
    tree: list[int] = []
    for pid in box.processes():
        with suppress(OSError):
            tree += descendants(pid)
    box.clear()
    for pid in tree:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def until(ask: Callable[[], Any], seconds: float = START_SECONDS, every: float = 0.1) -> Any:
    """The first true answer; unhurried, since what is waited for takes the same cores."""
    deadline = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {ask} (last: {answer!r})"
        time.sleep(every)
    return answer


class Rig:
    """One worker of a box, and the questions that every test asks."""

    def __init__(self, box: Box, worker: str) -> None:
        self.box = box
        self.worker = worker

    @property
    def door(self) -> Server:
        """Its public address."""
        host = str(self.box.settings["workers"][self.worker]["listen"])
        assert self.box.process is not None
        return Server(f"http://{host}", int(host.rpartition(":")[2]), self.box.process, self.log)

    @property
    def log(self) -> Path:
        """Its output."""
        return self.box.state / "workers" / self.worker / "log" / "worker.log"

    def look(self) -> dict[str, Any]:
        """As status shows it."""
        return self.box.worker(self.worker)

    def ready(self) -> dict[str, Any]:
        """Ready, with a fresh restart budget; started where an earlier test left it down."""
        if self.box.process is None:
            self.box.start()
        if self.look()["phase"] in {"stopped", "failed"}:
            self.box.ask("order", "start", self.worker)
        found: dict[str, Any] = self.reaches("ready")
        self.box.ask("order", "reset", self.worker)
        return found

    def reaches(self, *phases: str, incarnation: int = 0) -> dict[str, Any]:
        """Until it is in one of the phases, in this incarnation or a later one."""

        def there() -> dict[str, Any] | None:
            found = self.look()
            if found["phase"] == "failed" and "failed" not in phases:
                raise AssertionError(f"{self.worker} failed: {found['reason']}\n{self.last_words()}")
            return found if found["phase"] in phases and found["incarnation"] >= incarnation else None

        try:
            found: dict[str, Any] = until(there)
        except AssertionError as late:
            late.add_note(f"{self.look()}\n{self.last_words()}")
            raise
        return found

    def back(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """The next life, ready; exactly one more, and nothing of the last one lives."""
        after = self.reaches("ready", incarnation=before["incarnation"] + 1)
        assert after["incarnation"] == before["incarnation"] + 1
        assert after["pid"] != before["pid"]
        return after

    def tree(self) -> dict[int, str]:
        """The leader and everything below it: pid -> command line."""
        leader = self.look()["pid"]
        return {pid: command(pid) for pid in (leader, *descendants(leader))}

    def member(self, role: str) -> int:
        """The engine process of this role."""
        return next(pid for pid, title in self.tree().items() if title.endswith(f"::{role}"))

    def front(self) -> int:
        """The process behind the public address."""
        return next(pid for pid, text in self.box.processes().items() if "genesisd.front" in text)

    def events(self, since: float, kind: str) -> list[dict[str, Any]]:
        """What the journal tells of it, from this wall time on."""
        found = self.box.ask("events", since, follow=False, worker=self.worker)
        return [event for event in found if event["kind"] == kind]

    def phases(self, since: float) -> list[str]:
        """The phases that it went through."""
        return [event["fields"]["phase"] for event in self.events(since, "worker_phase")]

    def last_words(self) -> str:
        """The end of its output, for a failure's message."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-30:]) if self.log.exists() else ""


def gone(pids: Mapping[int, str]) -> bool:
    """None of them lives."""
    return not any(alive(pid) for pid in pids)


class Flow(threading.Thread):
    """A stream in the background: what came, and how it ended."""

    def __init__(self, url: str, tokens: int = LONG, answers: int = 1) -> None:
        super().__init__(daemon=True)
        prompt = {"model": "tiny", "prompt": "Hello", "temperature": 1, "seed": 0, "n": answers}
        self._body = {**prompt, "max_tokens": tokens, "ignore_eos": True, "stream": True}
        self._body["stream_options"] = {"include_usage": True}
        self._url = url
        self.lines: list[str] = []
        self.fault: str | None = None
        self.ended_at: float | None = None
        self.start()

    def run(self) -> None:
        sent = json.dumps(self._body).encode()
        request = urllib.request.Request(f"{self._url}/v1/completions", sent, {"content-type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:
                self.lines.extend(line.decode().strip() for line in answer if line.strip())
        except urllib.error.HTTPError as error:
            with error:
                self.fault = f"{error.code}: {error.read().decode()}"
        except OSError as error:
            self.fault = repr(error)
        except Exception as error:
            self.fault = f"{type(error).__name__}: {error}"
        self.ended_at = time.time()

    def tokens(self) -> int:
        """How many it brought, once it has ended as it should. Chunks are no measure: a busy server merges them."""
        self.join(START_SECONDS)
        assert self.ended_at is not None, "the request has not ended"
        assert self.fault is None, self.fault
        assert self.lines[-1] == "data: [DONE]", self.lines[-3:]
        return int(json.loads(self.lines[-2].removeprefix("data: "))["usage"]["completion_tokens"])


def flowing(url: str, *answers: int) -> list[Flow]:
    """Streams of so many answers each, all running a moment ago. The worker makes four answers at a time, so that
    twelve last three times as long; of several streams none would wait for another's.
    """
    for _ in range(20):
        flows = [Flow(url, answers=count) for count in answers]
        until(lambda flows=flows: all(len(flow.lines) > 3 or flow.ended_at for flow in flows), every=0.01)
        if not any(flow.ended_at for flow in flows):
            return flows
        assert [flow.fault for flow in flows] == [None] * len(answers)
    raise AssertionError("streams end before they are seen to run")


def ask_engine(url: str, path: str, body: Any = None, timeout: float = 60) -> int:
    """The status of one request; 0 when none came."""
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url + path, sent, {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0


def engine_url(leader: int) -> str:
    """The engine's own address, from its command line: behind the front."""
    words = Path(f"/proc/{leader}/cmdline").read_bytes().decode().split("\0")
    return f"http://127.0.0.1:{words[words.index('--port') + 1]}"


@contextmanager
def listening(port: int) -> Iterator[None]:
    """Somebody else holds the port."""
    with socket.create_server(("127.0.0.1", port)):
        yield


def residue() -> set[str]:
    """Entries of /dev/shm, and of /tmp those that vLLM makes."""
    shared = {str(entry) for entry in Path("/dev/shm").iterdir()}
    return shared | {str(entry) for entry in Path("/tmp").iterdir() if _VLLMS.match(entry.name)}


def left_behind(before: set[str], seconds: float = 120) -> set[str]:
    """What is there now, was not ``before``, and stays: entries of tests that run at the same time go with them."""
    left, deadline = residue() - before, time.monotonic() + seconds
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = {entry for entry in left if Path(entry).exists()}
    return left


def listing(*folders: Path) -> set[str]:
    """Everything below the folders."""
    return {str(path) for folder in folders for path in folder.rglob("*")}


def scratch(box: Box, worker: str) -> list[str]:
    """What is in the worker's TMPDIR, cache, config and Triton folders."""
    own = box.state / "workers" / worker / "scratch"
    return sorted(listing(box.state / "run" / "tmp" / worker, *own.glob("*")))
