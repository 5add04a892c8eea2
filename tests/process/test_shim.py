"""The shim itself, spoken to as a daemon of any version would: protocol, log, locks and its promises about imports."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from genesisd.supervisor.runners.shims import SHIM
from tests.helpers.keeper import SECONDS, alive

ALLOWED = {"ctypes", "json", "os", "select", "signal", "socket"}
COMPILED_IN = {"errno", "sys", "time"}


class Daemon:
    """A connection that speaks lines of JSON."""

    def __init__(self, path):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(SECONDS)
        self.sock.connect(str(path))
        self.file = self.sock.makefile("rb")
        self.events = []

    def ask(self, op, **fields):
        self.sock.sendall(json.dumps({"v": 1, "id": 1, "op": op, **fields}).encode() + b"\n")
        return self.answer()

    def answer(self):
        while "event" in (message := json.loads(self.file.readline())):
            self.events.append(message)
        return message

    def event(self, kind):
        """The next event of a kind."""
        while not (found := [e for e in self.events if e["event"] == kind]):
            self.events.append(json.loads(self.file.readline()))
        self.events.remove(found[0])
        return found[0]

    def close(self):
        self.file.close()
        self.sock.close()


class Keeper:
    """One shim, and daemons that come and go."""

    def __init__(self, root):
        self.root = root
        self.state, self.path, self.lock = root / "w1", root / "s", root / "l"
        self.log = self.state / "log" / "worker.log"
        self.daemons = []
        self.process = self.start()
        assert self.process.stdout.readline() == b"ready\n"
        self.daemon = self.attach()

    def start(self):
        self.log.parent.mkdir(parents=True, exist_ok=True)
        argv = [sys.executable, "-I", "-S", str(SHIM), "w1", str(self.state), str(self.path), str(self.lock)]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)

    def attach(self, *, hello=True):
        daemon = Daemon(self.path)
        self.daemons.append(daemon)
        if hello:
            daemon.ask("hello")
        return daemon

    def spawn(self, incarnation, code, **fields):
        argv = [sys.executable, "-I", "-S", "-c", code]
        return self.daemon.ask("spawn", **{"incarnation": incarnation, "argv": argv, "env": {}, **fields})

    def close(self):
        if self.process.poll() is None:
            last = self.attach()
            child = last.ask("hello")["child"]
            if child:
                last.ask("sweep", incarnation=child["incarnation"])
            until(lambda: last.ask("quit")["ok"])
        for daemon in self.daemons:
            daemon.close()
        self.process.stdout.close()
        assert self.process.wait(SECONDS) in {0, -signal.SIGKILL}


def until(look):
    end = time.monotonic() + SECONDS
    while not look():
        assert time.monotonic() < end, "it did not become so in time"
        time.sleep(0.01)


def test_a_shim_whose_starter_died_leaves_without_taking_the_lock():
    """Nobody would ever speak to it: it must neither stay nor stand in the way of the next daemon's shim."""
    with tempfile.TemporaryDirectory(prefix="g-", dir="/tmp") as root:
        nobody, ready = os.pipe()
        os.close(nobody)
        argv = [sys.executable, "-I", "-S", str(SHIM), "w1", f"{root}/w1", f"{root}/s", f"{root}/l"]
        shim = subprocess.run(argv, check=False, stdout=ready, stderr=subprocess.PIPE, timeout=SECONDS)
        os.close(ready)
        assert (shim.returncode, shim.stderr, list(Path(root).iterdir())) == (69, b"", [])


@pytest.fixture
def keeper():
    with tempfile.TemporaryDirectory(prefix="g-", dir="/tmp") as root:
        keeper = Keeper(Path(root))
        yield keeper
        keeper.close()


def test_it_imports_only_what_was_agreed_and_only_at_the_top():
    """Nothing is imported later: after an upgrade its files may be gone."""
    tree = ast.parse(SHIM.read_text())
    top = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    everywhere = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert top == everywhere
    assert {alias.name for node in top for alias in node.names} == ALLOWED | COMPILED_IN
    assert set(sys.builtin_module_names) >= COMPILED_IN
    assert "__import__" not in SHIM.read_text()


def test_it_loads_no_module_after_it_is_ready(keeper):
    """A whole life (spawn, output, rotation, death, failed exec, bad request) opens no file of Python's library."""
    maps = Path(f"/proc/{keeper.process.pid}/maps")
    before = {line.split()[-1] for line in maps.read_text().splitlines() if ".so" in line}
    keeper.spawn(1, "print('x' * 100000)", log={"max_bytes": 4096, "keep": 2})
    keeper.daemon.event("swept")
    keeper.daemon.ask("spawn", incarnation=2, argv=["/nonexistent"], env={})
    keeper.daemon.ask("nonsense")
    assert {line.split()[-1] for line in maps.read_text().splitlines() if ".so" in line} == before


def test_hello_is_answered_in_every_version(keeper):
    """A daemon from the future learns what this shim speaks; its other requests are refused by name."""
    daemon = keeper.attach(hello=False)
    daemon.sock.sendall(b'{"v": 99, "id": 5, "op": "hello", "colour": "blue"}\n{"v": 99, "id": 6, "op": "tail"}\n')
    hello, refusal = daemon.answer(), daemon.answer()
    assert (hello["id"], hello["ok"], hello["worker"], hello["protocol"]) == (5, True, "w1", [1, 1])
    assert (hello["child"], hello["newest"], hello["exit"]) == (None, 0, None)
    assert (refusal["id"], refusal["ok"], refusal["error"]) == (6, False, "unsupported-version")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b'{"v": 1, "id": 1, "op": "dance"}', "unknown-op"),
        (b'{"v": 1, "id": 1}', "unknown-op"),
        (b"not json", "bad-request"),
        (b"[1, 2]", "unsupported-version"),
        (b'{"v": 1, "id": 1, "op": "spawn", "incarnation": 1}', "bad-request"),
        (b'{"v": 1, "id": 1, "op": "spawn", "incarnation": "7", "argv": ["x"], "env": {}}', "bad-request"),
        (b'{"v": 1, "id": 1, "op": "spawn", "incarnation": 1, "argv": ["a\\u0000b"], "env": {}}', "bad-request"),
        (b"[" * 100000, "bad-request"),
        (b'{"v": 1, "id": 1, "op": "signal", "incarnation": 1, "signal": 15}', "no-such-incarnation"),
        (b'{"v": 1, "id": 1, "op": "sweep", "incarnation": 1}', "no-such-incarnation"),
    ],
)
def test_a_bad_request_is_answered_and_harms_nothing(keeper, line, error):
    """Every refusal has a code, and the shim serves on."""
    keeper.daemon.sock.sendall(line + b"\n")
    answer = keeper.daemon.answer()
    assert (answer["ok"], answer["error"]) == (False, error)
    assert keeper.daemon.ask("hello")["child"] is None


def test_a_second_shim_for_the_worker_leaves_at_once(keeper):
    """The loser of the lock has an exit status of its own and does not touch the winner's socket."""
    second = keeper.start()
    assert second.wait(SECONDS) == 75
    second.stdout.close()
    assert keeper.attach().ask("hello")["pid"] == keeper.process.pid


def test_signals_of_the_terminal_do_not_end_it(keeper):
    """Ctrl-C and a hang-up are meant for the daemon."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        os.kill(keeper.process.pid, number)
    assert keeper.daemon.ask("hello")["ok"]


def test_quit_is_refused_while_a_child_lives(keeper):
    """It leaves only when there is nothing to keep."""
    keeper.spawn(1, "import time; time.sleep(600)")
    assert keeper.daemon.ask("quit")["error"] == "child-lives"
    keeper.daemon.ask("sweep", incarnation=1)
    keeper.daemon.event("swept")
    assert keeper.daemon.ask("quit")["ok"]
    assert keeper.process.wait(SECONDS) == 0
    assert not keeper.path.exists()


def test_every_attached_daemon_hears_of_a_death(keeper):
    """Events go to all, the record is on disk before they do, and hello repeats it to whoever comes later."""
    other = keeper.attach()
    keeper.spawn(3, "import sys; print('last words'); sys.exit(5)", note={"port": 1})
    for daemon in (keeper.daemon, other):
        event = daemon.event("exited")
        assert (event["incarnation"], event["exit"]["code"], event["exit"]["tail"]) == (3, 5, ["last words"])
        assert json.loads((keeper.state / "exits" / "3.json").read_text())["code"] == 5
        assert daemon.event("swept")["survivors"] == 0
    assert json.loads((keeper.state / "exits" / "3.json").read_text())["survivors"] == 0
    hello = keeper.attach(hello=False).ask("hello")
    assert (hello["newest"], hello["exit"]["code"], hello["exit"]["note"]) == (3, 5, {"port": 1})


def test_an_order_of_a_dead_daemon_comes_before_the_question_of_the_next(keeper):
    """A spawn that is still in the dead daemon's socket is part of what the next hello says."""
    os.kill(keeper.process.pid, signal.SIGSTOP)
    argv = [sys.executable, "-I", "-S", "-c", "import time; time.sleep(600)"]
    request = {"v": 1, "id": 1, "op": "spawn", "incarnation": 1, "argv": argv, "env": {}}
    keeper.daemon.sock.sendall(json.dumps(request).encode() + b"\n")
    keeper.daemon.close()
    following = keeper.attach(hello=False)
    following.sock.sendall(b'{"v": 1, "id": 1, "op": "hello"}\n')
    os.kill(keeper.process.pid, signal.SIGCONT)
    assert following.answer()["child"]["incarnation"] == 1


def test_a_failed_exec_is_an_error_and_no_life(keeper):
    """The system's error comes back, nothing is reported as a life or a death, no record stays."""
    answer = keeper.daemon.ask("spawn", incarnation=1, argv=["/etc/passwd"], env={})
    assert (answer["error"], answer["errno"]) == ("exec-failed", 13)
    answer = keeper.daemon.ask("spawn", incarnation=1, argv=["/bin/true"], env={}, cwd="/nonexistent")
    assert (answer["error"], answer["errno"]) == ("exec-failed", 2)
    assert "chdir" in answer["text"]
    hello = keeper.daemon.ask("hello")
    assert (hello["child"], hello["newest"], hello["exit"]) == (None, 0, None)
    assert not (keeper.state / "life.json").exists()
    assert keeper.daemon.events == []


def test_a_life_is_written_down_before_the_program_runs(keeper):
    """Whoever kills the shim at any moment leaves a record of what it had begun."""
    record = keeper.state / "life.json"
    keeper.spawn(1, f"print(open({str(record)!r}).read())", note={"port": 9})
    life = json.loads(keeper.daemon.event("exited")["exit"]["tail"][0])
    assert (life["incarnation"], life["note"]) == (1, {"port": 9})


def test_a_flood_is_rotated_and_does_not_keep_the_daemon_waiting(keeper):
    """100 MB in rotated files of bounded size, each whole lines, while the shim answers."""
    code = "import sys\nfor n in range(1000000): sys.stdout.write(f'{n:09d} ' + 'x' * 89 + '\\n')"
    keeper.spawn(1, code, log={"max_bytes": 8 << 20, "keep": 3})
    answers = 0
    while not any(event["event"] == "exited" for event in keeper.daemon.events):
        assert keeper.daemon.ask("tail", lines=1)["ok"]
        answers += 1
    assert answers > 1
    keeper.daemon.event("swept")
    files = sorted(path.name for path in keeper.log.parent.iterdir())
    assert files == ["worker.log", "worker.log.1", "worker.log.2", "worker.log.3"]
    assert all(path.stat().st_size <= 8 << 20 for path in keeper.log.parent.iterdir())
    text = "".join((keeper.log.parent / name).read_text() for name in reversed(files))
    numbers = [int(line[:9]) for line in text.splitlines()[1:]]
    assert numbers == list(range(numbers[0], 1000000))
    assert keeper.daemon.ask("tail", lines=1)["lines"][0].startswith("000999999 ")


@pytest.mark.parametrize("act", [Path.unlink, lambda path: path.rename(path.with_name("moved"))], ids=["rm", "mv"])
def test_a_log_that_somebody_took_away_is_begun_anew(keeper, act):
    """A deleted or renamed file does not swallow the output."""
    code = "import sys\nfor line in sys.stdin: pass\nprint('first', flush=True)\n" + _wait_for(
        keeper.root / "go", "second"
    )
    keeper.spawn(1, code)
    until(lambda: keeper.log.exists() and "first" in keeper.log.read_text())
    act(keeper.log)
    (keeper.root / "go").touch()
    keeper.daemon.event("swept")
    assert keeper.log.read_text() == "second\n"


def test_a_log_that_cannot_be_written_does_not_stop_the_worker(keeper):
    """The pipe is drained, the loss is counted, and the log says so once it can be written again."""
    keeper.log.mkdir()
    code = "import sys\nsys.stdout.write(('x' * 99 + '\\n') * 10000)\nsys.stdout.flush()\n" + _wait_for(
        keeper.root / "go", "end"
    )
    keeper.spawn(1, code)
    until(lambda: keeper.daemon.ask("hello")["lost"] == 1000000)
    keeper.log.rmdir()
    (keeper.root / "go").touch()
    keeper.daemon.event("swept")
    note, end = keeper.log.read_text().splitlines()
    assert ("1000000 bytes of output were lost" in note, end) == (True, "end")


def test_a_daemon_that_does_not_read_is_dropped(keeper):
    """A stuck daemon costs the shim a bounded buffer, not its life."""
    keeper.spawn(1, "print('x' * 100000)")
    keeper.daemon.event("swept")
    stuck = keeper.attach()
    stuck.sock.settimeout(0.5)
    try:
        for _ in range(200):
            stuck.sock.sendall(b'{"v": 1, "id": 1, "op": "tail", "lines": 9}\n' * 10)
    except OSError:
        pass
    assert keeper.daemon.ask("hello")["ok"]
    assert len(list(Path(f"/proc/{keeper.process.pid}/fd").iterdir())) < 16


def test_a_request_without_end_is_cut_off(keeper):
    """A line that never ends is not collected for ever."""
    endless = keeper.attach()
    with pytest.raises(OSError, match=r"pipe|reset"):
        endless.sock.sendall(b"x" * (64 << 20))
    assert keeper.daemon.ask("hello")["ok"]


def test_it_keeps_no_file_of_the_daemon_open(keeper):
    """Whatever was open in its starter would live as long as the worker."""
    assert len(list(Path(f"/proc/{keeper.process.pid}/fd").iterdir())) <= 9


def test_old_exit_records_are_cleared(keeper):
    """A crash loop does not fill the disk with records."""
    for n in range(1, 36):
        keeper.spawn(n, "")
        keeper.daemon.event("swept")
    assert len(list((keeper.state / "exits").glob("*.json"))) == 32


def test_an_orphan_that_it_adopts_while_the_leader_lives_is_reaped(keeper):
    """A double fork ends with the shim as its parent, which leaves no corpse."""
    code = (
        "import os, time\nr, w = os.pipe()\npid = os.fork()\n"
        "if pid == 0:\n    if os.fork(): os._exit(0)\n    os.write(w, str(os.getpid()).encode()); os._exit(0)\n"
        "os.waitpid(pid, 0)\nprint(os.read(r, 20).decode(), flush=True)\ntime.sleep(600)"
    )
    keeper.spawn(1, code)
    until(lambda: keeper.daemon.ask("tail", lines=1)["lines"])
    orphan = int(keeper.daemon.ask("tail", lines=1)["lines"][0])
    until(lambda: not Path(f"/proc/{orphan}").exists())
    assert alive(keeper.daemon.ask("hello")["child"]["pid"])


def _wait_for(path, word):
    return f"import os, time\nwhile not os.path.exists({str(path)!r}): time.sleep(0.01)\nprint({word!r})"
