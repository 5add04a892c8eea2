"""``genesisd --foreground --guide`` as somebody has it at a terminal: Ctrl-C, once and twice, and a closed window."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.box import FAKE, ROOT, Box, free_port, until

CTRL_C = b"\x03"
SLOW_DRAIN = {"stop": {"drain": "200s", "grace": "5s"}}
READY = "All ready"


class Terminal:
    """A daemon on a terminal of its own, and somebody who reads it."""

    def __init__(self, box: Box) -> None:
        self.home, self.scratch = box.folder / "home", box.folder / "tmp"
        self.home.mkdir()
        self.scratch.mkdir()
        argv = [sys.executable, "-m", "genesisd", "--config", str(box.file), "--foreground", "--guide"]
        environment = {**os.environ, "HOME": str(self.home), "TMPDIR": str(self.scratch), "TERM": "xterm"}
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(ROOT)
            os.execve(argv[0], argv, environment)
        self.shown = ""
        self._code: int | None = None

    def read(self) -> str:
        """All that was shown so far."""
        with contextlib.suppress(OSError):  # EIO: the other side is gone
            while select.select([self.fd], [], [], 0.02)[0] and (some := os.read(self.fd, 65536)):
                self.shown += some.decode(errors="replace")
        return self.shown

    def await_text(self, text: str) -> None:
        """Until it is shown."""
        until(lambda: text in self.read(), what=f"{text!r} is shown")

    def type(self, keys: bytes) -> None:
        """Press keys."""
        os.write(self.fd, keys)

    def hang_up(self) -> None:
        """Close the window."""
        os.close(self.fd)
        self.fd = -1

    def ended(self) -> bool:
        """Whether the daemon has ended; what it shows is read meanwhile, as a terminal does."""
        if self.fd >= 0:
            self.read()
        if self._code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self._code = os.waitstatus_to_exitcode(status) if pid else None
        return self._code is not None

    def code(self) -> int:
        """The exit status."""
        until(self.ended, what="the daemon has ended")
        assert self._code is not None
        return self._code

    def close(self) -> None:
        """Leave nothing, whatever happened."""
        if not self.ended():
            os.kill(self.pid, signal.SIGKILL)
            self.code()
        if self.fd >= 0:
            os.close(self.fd)


def catches_sighup(pid: int) -> bool:
    """Whether the process has a handler for it."""
    status = Path(f"/proc/{pid}/status").read_text()
    return bool(int(status.split("SigCgt:")[1].split()[0], 16) & 1 << (signal.SIGHUP - 1))


@pytest.fixture
def at_terminal(box) -> Iterator[tuple[Box, Terminal]]:
    """A box whose daemon runs on a terminal."""
    worker = {"command": [*FAKE, "--token-delay", "0.2"], "listen": f"127.0.0.1:{free_port()}", **SLOW_DRAIN}
    one = box({"w": worker}, start=False)
    terminal = Terminal(one)
    yield one, terminal
    terminal.close()


def stream(one: Box) -> threading.Thread:
    """A long answer, being read; its end may be an early one."""
    body = {"model": "tiny", "prompt": "hi", "max_tokens": 1000, "stream": True, "ignore_eos": True}
    address = f"http://{one.settings['workers']['w']['listen']}/v1/completions"
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    begun = threading.Event()

    def read() -> None:
        with contextlib.suppress(OSError, EOFError, Exception), urllib.request.urlopen(request, timeout=60) as answer:
            for _ in answer:
                begun.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert begun.wait(60)
    return reader


def left_by(one: Box, terminal: Terminal) -> set[str]:
    """What lies in folders that are everybody's and bears a name of this box; others' tests make files there too."""
    names = (one.folder.parent.name, str(terminal.pid))
    found = [path.name for folder in ("/dev/shm", "/tmp") for path in Path(folder).iterdir()]
    return {name for name in found if any(mine in name for mine in names)}


def test_ctrl_c_ends_everything_and_leaves_no_file(at_terminal):
    """No process, no file outside the state folder, status 0, and a guide that said what to do."""
    one, terminal = at_terminal
    terminal.await_text(READY)
    shared = left_by(one, terminal)
    terminal.type(CTRL_C)
    assert (terminal.code(), one.processes()) == (0, {})
    assert "Ctrl-C again ends it at once" in terminal.shown
    assert "Traceback" not in terminal.shown
    assert [*terminal.home.rglob("*"), *terminal.scratch.rglob("*")] == []
    assert {path.name for path in one.folder.iterdir()} <= {"genesisd.yaml", "s", "cache", "home", "tmp", "daemon.log"}
    assert left_by(one, terminal) <= shared


def test_the_terminal_is_for_people(at_terminal):
    """The log is no JSON there, and the guide's lines stand alone."""
    _, terminal = at_terminal
    terminal.await_text(READY)
    lines = terminal.shown.splitlines()
    assert not any(line.startswith("{") for line in lines)
    assert any(line.startswith("[") and line.endswith("w: ready, serving") for line in lines)


@pytest.mark.parametrize("moment", range(8))
def test_ctrl_c_while_it_starts(at_terminal, moment):
    """At any moment: it ends soon, without a traceback, and leaves nothing."""
    one, terminal = at_terminal
    until(lambda: catches_sighup(terminal.pid))  # before that the interpreter itself is still starting
    time.sleep(0.15 * moment)  # where it is then is not known, and need not be
    terminal.type(CTRL_C)
    assert terminal.code() in {0, -signal.SIGINT}
    assert ("Traceback" in terminal.shown, one.processes()) == (False, {})


def test_a_second_ctrl_c_does_not_wait_for_the_drain(at_terminal):
    """The first waits for the answer that is being given, the second does not; nothing is left all the same."""
    one, terminal = at_terminal
    terminal.await_text(READY)
    reader = stream(one)
    terminal.type(CTRL_C)
    one.wait("w", "draining")
    assert not terminal.ended()
    terminal.type(CTRL_C)
    assert (terminal.code(), one.processes()) == (0, {})
    reader.join(60)


def test_a_closed_window_ends_everything(at_terminal):
    """SIGHUP of a terminal that is gone is no reload: nobody could press Ctrl-C any more."""
    one, terminal = at_terminal
    terminal.await_text(READY)
    terminal.hang_up()
    assert (terminal.code(), one.processes()) == (0, {})


def test_sighup_is_a_reload_while_the_terminal_is_there(at_terminal):
    """``kill -HUP`` from elsewhere reads the configuration again."""
    one, terminal = at_terminal
    terminal.await_text(READY)
    one.settings["workers"]["more"] = {"command": [*FAKE, "--bare"]}
    one.write()
    os.kill(terminal.pid, signal.SIGHUP)
    until(lambda: "more" in [worker["name"] for worker in one.ask("workers")])
    assert not terminal.ended()


def test_sighup_during_the_start_does_no_harm(box):
    """A reload that comes before there is anything to reload is no reason to die."""
    one = box({"w": {"command": [*FAKE, "--bare"]}}, start=False).start(wait=False)
    until(lambda: catches_sighup(one.process.pid))
    while not one.socket.exists():
        one.signal(signal.SIGHUP)
        time.sleep(0.005)
    until(one.answers)
    one.wait("w", "ready")


def test_nobody_reads_what_it_prints(box):
    """A closed pipe (``| head -1``) costs the output, not the supervision."""
    one = box({"w": {"command": [*FAKE, "--bare"], **SLOW_DRAIN}}, start=False)
    argv = [sys.executable, "-m", "genesisd", "--config", str(one.file), "--foreground", "--guide"]
    one.process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    one.process.stdout.readline()
    one.process.stdout.close()
    until(one.answers)
    os.kill(one.wait("w", "ready")["pid"], signal.SIGKILL)
    one.life("w", 2)
