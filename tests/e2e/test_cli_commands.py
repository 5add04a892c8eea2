"""genesisctl against a real socket: what it prints, and every exit status."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from genesisd.cli.handed import Handed
from genesisd.cli.main import root, run
from genesisd.control import messages
from genesisd.errors import ConfigError, ConflictError, PermissionDeniedError
from genesisd.patchtool.app import root as tool
from genesisd.supervisor.model import Phase
from genesisd.watchtool.app import root as watchtool
from tests.e2e.control_thread import serve
from tests.fakes.control_api import failed_worker, ready_worker, stopped_worker

CTL = [sys.executable, "-P", "-m", "genesisd.cli.main"]


@pytest.fixture
def served(tmp_path, monkeypatch):
    with serve(tmp_path / "c.sock", ready_worker(), failed_worker(), stopped_worker()) as served:
        monkeypatch.setenv("GENESISD_SOCKET", str(served.path))
        yield served


@pytest.fixture
def ctl(served, capsys):
    """Run a command line: (exit status, stdout, stderr)."""

    def ctl(line: str):
        status = run(line.split())
        said = capsys.readouterr()
        return status, said.out, said.err

    return ctl


def test_status_is_a_line_a_worker(ctl) -> None:
    """Piped: aligned columns, nothing cut, no colour; the daemon's own line is a message, not data."""
    status, out, err = ctl("status")
    assert out == (
        "NAME   PHASE    FOR    RESTARTS  URL                    REASON\n"
        "tiny   ready    1h02m  1/5       http://127.0.0.1:8000  a generation was proven\n"
        "big    failed   1h02m  5/5       http://127.0.0.1:8000  the model path /models/big does not exist; "
        "correct 'model' and reset\n"
        "spare  stopped  1h02m  0/5       -                      never started\n"
    )
    assert (status, err) == (3, "genesisd 0.1.0, pid 77, up 1d1h\n")


def test_status_is_0_when_all_that_is_wanted_is_ready(ctl, served) -> None:
    """A worker that nobody wants up may be down."""
    del served.api.views["big"]
    assert ctl("status -q") == (0, ctl("status")[1], "")


def test_show(ctl) -> None:
    """Details of one worker."""
    status, out, _ = ctl("workers show tiny")
    assert status == 0
    assert out == (
        "tiny: ready for 1h02m\n"
        "  reason     a generation was proven (ready)\n"
        "  wanted     up\n"
        "  url        http://127.0.0.1:8000\n"
        "  pin        cpu-0.32.0\n"
        "  build      cpu-0123456789ab+fedcba987654, 12 patches\n"
        "  attested   every process runs the build\n"
        "  lost       PN388\n"
        "  process    pid 4242, incarnation 3\n"
        "  shim       pid 4200\n"
        "  ready for  1h01m\n"
        "  restarts   1, 5 allowed in 10m00s\n"
        "  last exit  killed by signal 9 (SIGKILL) (killed, signal 9)\n"
        "  front      2 open, 1 in flight, 0 unanswered, 0 held, 17 answered, 0 refused\n"
        "  probes\n"
        "    readiness port-owner success 1s ago    port 8001 is owned by pid 4242\n"
        "    readiness generation success 12s ago   4 tokens, length\n"
        "    liveness  process    success 0s ago    3 processes run\n"
        "    liveness  progress   unknown never     nothing asked yet\n"
    )


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("status", messages.StatusAnswer),
        ("workers list", messages.WorkersAnswer),
        ("workers show big", messages.WorkerAnswer),
        ("pins list", messages.PinsAnswer),
        ("reload", messages.ReloadAnswer),
        ("config check", messages.ConfigCheckAnswer),
        ("config check FILE", messages.ConfigCheckAnswer),
        ("shutdown --drain", messages.ShutdownAnswer),
        ("workers show nobody", messages.ErrorAnswer),
    ],
)
def test_json_is_the_wire(ctl, tmp_path, line, model) -> None:
    """With --json a command prints the declared message, whether the option comes first or last."""
    config = tmp_path / "c.yaml"
    config.write_text("workers: {}\n")
    for asked in (f"{line} --json", f"--json {line}"):
        out = ctl(asked.replace("FILE", str(config)))[1]
        model.model_validate_json(out)


@pytest.mark.parametrize(
    ("line", "keys"),
    [
        ("version", {"schema", "genesisctl", "daemon"}),
        ("workers start tiny spare", {"schema", "workers", "errors"}),
        ("workers stop tiny --now --wait", {"schema", "workers", "errors"}),
        ("workers start nobody", {"schema", "workers", "errors"}),
    ],
)
def test_json_of_its_own(ctl, line, keys) -> None:
    """Where genesisctl adds to the wire, the keys are exactly these."""
    told = json.loads(ctl(f"{line} --json")[1])
    assert (set(told), told["schema"]) == (keys, 1)


def test_streams_as_json_lines(ctl, served) -> None:
    """Each line of a stream is a document with a schema version."""
    served.call(served.api.feed.publish, "phase", "tiny", {"phase": "ready"}, 5.0)
    messages.EventLine.model_validate_json(ctl("events --json")[1])
    lines = ctl("logs tiny -n 3 --json")[1].splitlines()
    assert [messages.LogLine.model_validate_json(line).line for line in lines] == ["line 198", "line 199", "line 200"]


@pytest.mark.parametrize("verb", ["start", "stop", "restart", "drain", "reset"])
def test_orders(ctl, served, verb) -> None:
    """An order reaches each worker that is named, once, and may be repeated."""
    assert ctl(f"workers {verb} tiny spare tiny")[0] == 0
    assert served.api.orders == [(verb, "tiny"), (verb, "spare")]
    assert ctl(f"workers {verb} --all --wait --timeout 60")[0] == 0


def test_now_cuts_off(ctl, served) -> None:
    """--now reaches the daemon as drain=false."""
    assert ctl("workers stop tiny --now")[0] == 0
    assert served.api.orders == [("stop-now", "tiny")]


def test_wait_for_a_worker_that_fails(ctl, served, monkeypatch) -> None:
    """Waiting for a worker that fails instead is a failure with its reason, not a timeout."""

    async def start(name, _peer):
        served.api.views[name] = failed_worker(name)
        return served.api.views[name]

    monkeypatch.setattr(served.api, "start", start)
    status, out, err = ctl("workers start tiny --wait --timeout 60")
    assert (status, out) == (1, "")
    assert "tiny is failed: the model path /models/big does not exist" in err


def test_one_bad_name_does_not_stop_the_others(ctl, served) -> None:
    """The good names are served, the bad one is explained, and the status says that something failed."""
    status, out, err = ctl("workers start spar tiny")
    assert (status, served.api.orders) == (1, [("start", "tiny")])
    assert out == "tiny: ready (start by the operator)\n"
    assert "there is no worker 'spar'" in err
    assert "did you mean spare?" in err


@pytest.mark.parametrize(
    ("refusal", "status"),
    [
        (ConflictError("the card is taken"), 5),
        (PermissionDeniedError("not you"), 6),
        (ConfigError("bad"), 1),
    ],
)
def test_exit_status_follows_the_code(ctl, served, refusal, status) -> None:
    """The daemon's refusal decides the exit status."""
    served.api.refuse = refusal
    assert ctl("workers start tiny")[0] == status
    assert ctl("reload")[0] == status


def test_exit_4_on_timeout(ctl, served, monkeypatch) -> None:
    """A worker that does not get there in time is a timeout."""

    async def start(name, _peer):
        served.api.views[name] = ready_worker(name, phase=Phase.WARMING)
        return served.api.views[name]

    monkeypatch.setattr(served.api, "start", start)
    status, _, err = ctl("workers start tiny --wait --timeout 0.05")
    assert status == 4
    assert "still warming" in err


@pytest.mark.parametrize(
    "line",
    [
        "",
        "statsu",
        "workers",
        "workers start",
        "workers start --all tiny",
        "workers start tiny --timeout -1",
        "workers strat tiny",
        "status --bogus",
        "logs",
        "logs tiny -n many",
        "events --since yesterday",
        "completion csh",
        "probes histroy tiny",
        "probes run tiny",
        "probes record-golden tiny --explain capital",
        "incidents shwo 7",
        "incidents show seven",
        "replay 7",
        "quarantine release",
        "quarantine release patch P61c",
    ],
)
def test_exit_2_on_usage(ctl, line) -> None:
    """A mistake on the command line prints nothing on stdout, and something on stderr."""
    status, out, err = ctl(line)
    assert (status, out) == (2, "")
    assert err


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("statsu", "status"),
        ("workers strat", "start"),
        ("evnets", "events"),
        ("probes histroy tiny", "history"),
        ("incidents shwo 7", "show"),
    ],
)
def test_suggests_commands(ctl, typo, meant) -> None:
    """A near miss is answered with the command that was meant."""
    assert f"Did you mean '{meant}'?" in ctl(typo)[2]


def test_suggests_workers(ctl) -> None:
    """Everywhere that a worker is named."""
    for line in (
        "workers show tyni",
        "logs tyni",
        "events --worker tyni",
        "workers stop tyni",
        "probes tyni",
        "probes run tyni golden",
        "incidents --worker tyni",
        "why tyni",
        "replay 7 --worker tyni",
    ):
        status, _, err = ctl(line)
        assert status == 1
        assert "did you mean tiny?" in err


def test_config_check_offline(capsys, tmp_path, monkeypatch) -> None:
    """Works without a daemon; faults have their place and exit with 10."""
    monkeypatch.setenv("GENESISD_SOCKET", str(tmp_path / "none.sock"))
    bad = tmp_path / "bad.yaml"
    bad.write_text("workers:\n  main:\n    comand: [sleep]\n")
    assert run(["config", "check", str(bad)]) == 10
    said = capsys.readouterr()
    assert re.search(rf"{re.escape(str(bad))}:\d+: .*comand", said.out)
    good = tmp_path / "good.yaml"
    good.write_text("workers: {}\n")
    assert run(["config", "check", str(good)]) == 0
    assert "is fine" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("group", "first"),
    [(root, []), (tool, ["patches"]), (watchtool, ["watch"])],
    ids=["genesisctl", "patches", "watch"],
)
def test_help_has_examples_first_everywhere(group, first) -> None:
    """-h of each command shows a line to copy before it explains, also in the programs behind it."""

    def walk(command, path):
        yield path, command
        for name in getattr(command, "list_commands", lambda _c: [])(None):
            if not isinstance(command.get_command(None, name), Handed):
                yield from walk(command.get_command(None, name), [*path, name])

    for path, command in walk(group, []):
        shown = CliRunner().invoke(group, [*path, "-h"]).output
        whole = ["genesisctl", *first, *path]
        assert shown.index("Examples:") < shown.index("Options:"), whole
        assert whole[:2] == shown.split("Examples:")[1].split()[:2] or whole == ["genesisctl"]
        assert command.help, whole


# --- the daemon is down ---------------------------------------------------------------------------------------


DOWN = ["status", "workers list", "workers show x", "workers start x", "logs x", "events", "pins list", "reload", "shutdown", "config check", "probes", "probes run x golden", "probes history x", "probes record-golden x", "incidents", "incidents show 7", "why x", "replay 7 --worker x", "quarantine", "quarantine release card 1", "watch", "watch status", "watch show 7", "watch accept 1", "watch sweep --now"]  # fmt: skip


@pytest.mark.parametrize("line", DOWN)
def test_exit_3_without_a_daemon(capsys, tmp_path, line) -> None:
    """The path is named, and how to start the daemon."""
    path = tmp_path / "none.sock"
    assert run(["--socket", str(path), *line.split()]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert f"no daemon is running: there is no socket {path}" in said.err
    assert "systemctl start genesisd" in said.err


def test_a_stale_socket_is_a_daemon_that_is_down(capsys, tmp_path) -> None:
    """What a killed daemon leaves is not taken for a daemon."""
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / "c.sock"))
    assert run(["status", "--socket", str(tmp_path / "c.sock")]) == 3
    assert "nobody listens on" in capsys.readouterr().err


def test_version_without_a_daemon(capsys, tmp_path) -> None:
    """genesisctl knows its own version in any case."""
    assert run(["version", "--json", "--socket", str(tmp_path / "none.sock")]) == 0
    assert json.loads(capsys.readouterr().out)["daemon"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become another user")
def test_exit_6_names_the_group(served) -> None:
    """A user outside the group is told which group to join."""
    served.path.parent.chmod(0o755)
    for folder in served.path.parents:
        if folder != Path("/"):
            folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(served.path, 0, 0)
    code = (
        "import grp, os, sys; from genesisd.cli.main import run; import genesisd.cli.status; os.setgroups([]);"
        "os.setgid(4001); os.setuid(4001); sys.exit(run(['status']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 6, done.stderr
    assert "no permission for" in done.stderr
    assert "hint: " in done.stderr


def answer_once(path: Path, answer: bytes) -> threading.Thread:
    """A server that says one thing and hangs up."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def talk() -> None:
        with listener:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

    thread = threading.Thread(target=talk)
    thread.start()
    return thread


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (b"", 3, "went away"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\nGenesisd-Protocol: 1-1\r\n\r\n{", 3, "went away"),
        (b"SSH-2.0-OpenSSH\r\n", 3, "went away"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", 1, "no genesisd"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nGenesisd-Protocol: 0-0\r\n\r\n{}", 1, "restart the daemon"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nGenesisd-Protocol: 7-9\r\n\r\n{}", 1, "came with the daemon"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nGenesisd-Protocol: 1-2\r\n\r\nxx", 1, "without JSON"),
    ],
)
def test_strange_servers(capsys, tmp_path, answer, status, words) -> None:
    """Whatever answers on the socket, the error says what is the matter."""
    thread = answer_once(tmp_path / "c.sock", answer)
    assert run(["status", "--socket", str(tmp_path / "c.sock")]) == status
    thread.join()
    assert words in capsys.readouterr().err


# --- as a process ---------------------------------------------------------------------------------------------


def test_follow_until_interrupted(served) -> None:
    """Lines appear as they come; Ctrl-C exits with 130 and says nothing."""
    child = subprocess.Popen([*CTL, "logs", "tiny", "-f", "-n", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stdout.readline() == b"line 200\n"
    served.call(served.api.say, "hello")
    assert child.stdout.readline() == b"hello\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    end = time.monotonic() + 60
    while served.api.followers:
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_followed_daemon_that_ends(tmp_path) -> None:
    """The end of a stream that has none is told, with status 3."""
    with serve(tmp_path / "c.sock") as served:
        argv = [*CTL, "--socket", str(served.path), "logs", "tiny", "-f", "-n", "1"]
        child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"line 200\n"
    _, err = child.communicate(timeout=60)
    assert child.returncode == 3, err


def test_a_closed_pipe_is_quiet(served) -> None:
    """``genesisctl logs | head -1`` prints no traceback."""
    served.api.lines = ["x" * 1000] * 5000
    child = subprocess.Popen([*CTL, "logs", "tiny", "-n", "5000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr is not None
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 141


def test_completion_of_workers(served) -> None:
    """The shell's question is answered with the workers that begin so, and with nothing when the daemon is down."""
    env = os.environ | {"_GENESISCTL_COMPLETE": "bash_complete", "COMP_WORDS": "genesisctl workers show t", "COMP_CWORD": "3"}  # fmt: skip
    done = subprocess.run(CTL, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "plain,tiny\n"
    done = subprocess.run(CTL, env=env | {"GENESISD_SOCKET": "/none"}, capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("", "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(ctl, shell) -> None:
    """Each script asks genesisctl."""
    status, out, _ = ctl(f"completion {shell}")
    assert status == 0
    assert f"_GENESISCTL_COMPLETE={shell}_complete" in out


def test_starts_without_the_heavy_libraries(served) -> None:
    """No command that talks to the daemon loads aiohttp, pydantic, asyncio, rich or ssl-sized friends of ours."""
    code = (
        "import sys; from genesisd.cli.main import run; run(['status']); run(['workers', 'show', 'tiny']);"
        "run(['events']); run(['workers', 'start', 'tiny', '--wait']); run(['pins', 'list']);"
        "run(['probes']); run(['why', 'tiny']); run(['incidents', 'show', '7']); run(['quarantine']);"
        "run(['watch']); run(['watch', 'sweep', '--now']); run(['watch', 'snooze', '4', '--for', '1d']);"
        "sys.exit(' '.join({'aiohttp', 'pydantic', 'asyncio', 'rich', 'yaml', 'structlog'} & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def in_terminal(argv: list[str], columns: int, **env: str) -> str:
    """What a command prints on a terminal of this width."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    inherited = {key: value for key, value in os.environ.items() if key not in {"COLUMNS", "NO_COLOR"}}
    env = inherited | {"TERM": "xterm"} | env
    child = subprocess.Popen(argv, stdin=slave, stdout=slave, stderr=subprocess.DEVNULL, env=env)
    os.close(slave)
    shown = b""
    try:
        while part := os.read(master, 4096):
            shown += part
    except OSError:  # the terminal's other side is closed
        pass
    os.close(master)
    child.wait(60)
    return shown.decode()


def test_on_a_terminal(served) -> None:
    """Tables are cut to the terminal's width and coloured, unless NO_COLOR or --no-color says otherwise."""
    shown = in_terminal([*CTL, "status"], 60)
    assert "\x1b[32mready\x1b[0m" in shown
    assert "\x1b[31mfailed\x1b[0m" in shown
    plain = re.sub(r"\x1b\[[0-9;]*m", "", shown)
    assert max(map(len, plain.splitlines())) <= 60
    assert in_terminal([*CTL, "status"], 60, NO_COLOR="1") == plain
    assert in_terminal([*CTL, "status", "--no-color"], 60) == plain
    assert "correct 'model' and reset" in in_terminal([*CTL, "status"], 200)


def test_a_log_cannot_take_over_the_terminal(served) -> None:
    """On a terminal a log keeps its colours and loses every other control sequence."""
    served.api.lines = ["\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J \udcff"]
    shown = in_terminal([*CTL, "logs", "tiny"], 80)
    assert "\x1b[31mred" in shown
    assert "\x07" not in shown
    assert "\x1b[2J" not in shown
    assert "\x1b]" not in shown


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
def test_any_text_can_be_printed(served, encoding) -> None:
    """What the encoding of the output has no word for is replaced, not a traceback."""
    served.api.lines = ["\udcff 漢字"]
    env = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run([*CTL, "logs", "tiny"], capture_output=True, env=env, check=True)
    assert done.stdout.startswith(b"? ")
    assert done.stderr == b""


def test_pins_build_passes_the_childs_status_on(tmp_path, capfd) -> None:
    """A pins file that is not there ends the build with status 2, and the build's own words are seen."""
    argv = ["pins", "build", "x", "--pins", str(tmp_path / "none.yaml"), "--cache", str(tmp_path)]
    assert run(argv) == 2
    said = capfd.readouterr()
    assert "none.yaml" in said.out + said.err


def test_pins_build_takes_the_configuration(tmp_path, capsys) -> None:
    """Without a pins file in the configuration it says what is missing."""
    config = tmp_path / "c.yaml"
    config.write_text("workers: {}\n")
    assert run(["pins", "build", "x", "--config", str(config)]) == 2
    assert "names no pins file" in capsys.readouterr().err
