from __future__ import annotations

import os
import socket
import time
import uuid
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from genesisd.notify import Notifier

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(params=["path", "abstract"])
def systemd(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    name = f"genesisd-test-{uuid.uuid4().hex}"
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        address = f"@{name}" if request.param == "abstract" else str(tmp_path / "notify")
        listener.bind("\0" + name if request.param == "abstract" else address)
        listener.settimeout(5)
        yield listener, address


def received(systemd: tuple[socket.socket, str]) -> list[str]:
    return systemd[0].recv(4096).decode().split("\n")


def test_ready_carries_the_status(systemd):
    """READY and STATUS arrive in one message."""
    Notifier(systemd[1]).ready("2 workers")
    assert received(systemd) == ["READY=1", "STATUS=2 workers"]


@pytest.mark.parametrize(
    ("speak", "expected"),
    [
        (lambda n: n.ready(), ["READY=1"]),
        (lambda n: n.status("all is well"), ["STATUS=all is well"]),
        (lambda n: n.stopping("draining"), ["STOPPING=1", "STATUS=draining"]),
        (lambda n: n.stopping(), ["STOPPING=1"]),
        (lambda n: n.ping(), ["WATCHDOG=1"]),
        (lambda n: n.extend_timeout(1.5), ["EXTEND_TIMEOUT_USEC=1500000"]),
        (lambda n: n.extend_timeout(0), ["EXTEND_TIMEOUT_USEC=1"]),
        (lambda n: n.main_pid(77), ["MAINPID=77"]),
    ],
    ids=["ready", "status", "stopping+text", "stopping", "ping", "extend", "extend-zero", "mainpid"],
)
def test_each_message_is_systemds_own_wording(systemd, speak, expected):
    """Each method sends the documented assignment and nothing else."""
    speak(Notifier(systemd[1]))
    assert received(systemd) == expected


def test_reloading_says_when(systemd):
    """RELOADING comes with the monotonic time in microseconds, taken now."""
    before = time.monotonic_ns() // 1000
    Notifier(systemd[1]).reloading()
    first, stamp = received(systemd)
    assert first == "RELOADING=1"
    assert before <= int(stamp.removeprefix("MONOTONIC_USEC=")) <= time.monotonic_ns() // 1000


def test_a_line_break_cannot_smuggle_a_field(systemd):
    """A status text with a line break stays one field."""
    Notifier(systemd[1]).status("line\nREADY=1")
    assert received(systemd) == ["STATUS=line READY=1"]


def test_the_environment_is_taken_and_cleared(systemd):
    """Children inherit none of the variables that let them speak as the daemon."""
    env = {
        "NOTIFY_SOCKET": systemd[1],
        "WATCHDOG_USEC": "5000000",
        "WATCHDOG_PID": str(os.getpid()),
        "HOME": "/",
    }
    notifier = Notifier.from_environment(env)
    assert env == {"HOME": "/"}
    assert notifier.enabled
    assert notifier.watchdog_interval == 2.5


def test_the_process_environment_is_the_default(monkeypatch, systemd):
    """Without an argument the process's own environment is taken and cleared."""
    monkeypatch.setenv("NOTIFY_SOCKET", systemd[1])
    Notifier.from_environment().ping()
    assert received(systemd) == ["WATCHDOG=1"]
    assert "NOTIFY_SOCKET" not in os.environ


@pytest.mark.parametrize(
    ("microseconds", "pid"),
    [("5000000", "1"), ("", ""), ("0", ""), ("soon", ""), ("-5", "")],
    ids=["another-pid", "absent", "zero", "word", "negative"],
)
def test_a_watchdog_that_is_not_ours_is_off(systemd, microseconds, pid):
    """A watchdog for another process, or an unreadable one, asks for no pings."""
    env = {"NOTIFY_SOCKET": systemd[1], "WATCHDOG_USEC": microseconds, "WATCHDOG_PID": pid}
    assert Notifier.from_environment(env).watchdog_interval is None


@pytest.mark.parametrize("address", [None, "", "relative/path", "vsock:2:1234"])
def test_outside_systemd_everything_is_silent(address):
    """Without a usable socket nothing is sent, lost or raised."""
    notifier = Notifier(address, 10.0)
    notifier.ready("x")
    notifier.ping()
    assert not notifier.enabled
    assert notifier.watchdog_interval is None
    assert notifier.lost == 0


def test_a_vanished_socket_is_counted_not_raised(tmp_path):
    """A message to a socket that is gone is counted as lost."""
    notifier = Notifier(str(tmp_path / "gone"))
    notifier.ready()
    notifier.ping()
    assert notifier.lost == 2


def test_a_full_socket_is_counted_not_waited_for(tmp_path):
    """When systemd does not read, messages are lost and the daemon goes on."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        listener.bind(str(tmp_path / "notify"))
        notifier = Notifier(str(tmp_path / "notify"))
        for _ in range(2000):
            notifier.ping()
            if notifier.lost:
                break
    assert notifier.lost == 1
