from __future__ import annotations

import http.client
import os
import shutil
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.helpers.ports import free_port
from tests.systemd import machine

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PYTHON = "/usr/lib/genesisd/venv/bin/python3"
DROP_IN = "[Service]\nWatchdogSec=5\n"
CONFIG = """\
workers:
  {name}:
    command: [{python}, /usr/lib/genesisd/fake/fake_worker.py, --host, "{{host}}", --port, "{{port}}", --shm, "2"]
    listen: 127.0.0.1:{port}
    vram_free: 0
    probes:
      startup: [{{kind: http, period: 0.2s}}]
      readiness: [{{kind: generation, period: 1s, prompt: hello}}]
      liveness: [{{kind: process}}]
    stop: {{drain: 5s, grace: 5s}}
"""


@pytest.fixture(scope="session")
def guest() -> Iterator[machine.Guest]:
    """A booted systemd with genesisd installed by "make install"."""
    reason = machine.missing()
    if reason is not None:
        pytest.skip(reason)
    if not os.access("/usr/bin/python3", os.X_OK) or _version("/usr/bin/python3") < (3, 11):
        pytest.skip("needs a /usr/bin/python3 of 3.11 or newer, for the unprivileged user")
    with machine.Machine(install) as guest:
        yield guest


def install(root: Path) -> None:
    """Put the project and the fake worker on the guest's disk."""
    make = ["make", "--no-print-directory", "install", f"DESTDIR={root}", "INSTALL_PYTHON=/usr/bin/python3"]
    done = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise machine.GuestError(f"make install failed:\n{done.stdout}{done.stderr}")
    shutil.copytree(ROOT / "tests/helpers", root / "usr/lib/genesisd/fake")
    drop_in = root / "etc/systemd/system/genesisd.service.d/tests.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text(DROP_IN)


def _version(python: str) -> tuple[int, int]:
    code = "import sys; print(*sys.version_info[:2])"
    major, minor = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    return int(major), int(minor)


@dataclass
class Service:
    """The installed unit, with workers that are fakes."""

    guest: machine.Guest
    ports: dict[str, int] = field(default_factory=dict)

    def configure(self, *names: str) -> None:
        """Write a configuration with these workers."""
        self.guest.write("/etc/genesisd/genesisd.yaml", "{}\n")
        for name in ("one", "two"):
            (self.guest.root / f"etc/genesisd/conf.d/{name}.yaml").unlink(missing_ok=True)
        for name in names:
            port = self.ports.setdefault(name, free_port())  # the guest shares this machine's network
            self.guest.write(f"/etc/genesisd/conf.d/{name}.yaml", CONFIG.format(name=name, port=port, python=PYTHON))

    def start(self) -> None:
        """Start it and wait until every worker answers through its public address."""
        self.guest.run("systemctl", "start", "genesisd")
        self.answers(*self.ports)

    def answers(self, *names: str, within: float = 180) -> None:
        """Wait until these workers answer."""
        deadline = time.monotonic() + within
        waiting = list(names)
        while waiting:
            waiting = [name for name in waiting if not answers(self.ports[name])]
            if waiting and time.monotonic() > deadline:
                raise machine.GuestError(f"no answer from {waiting}:\n{self.guest.journal()}{self.guest.logs()}")
            time.sleep(0.1)

    @property
    def main_pid(self) -> int:
        """The daemon, as the guest numbers it."""
        return int(self.guest.show("MainPID"))

    def engines(self) -> dict[int, str]:
        """The living processes of the fakes: pid and kernel start time, so that a new one is never taken for an old."""
        listed = self.guest.attempt("ps", "-u", "genesisd", "-o", "pid=,lstart=,stat=,args=").stdout
        rows = [line.split(None, 1) for line in listed.splitlines() if "fake_worker" in line or "genesis:" in line]
        return {int(pid): rest.split()[3] for pid, rest in rows}

    def files(self) -> list[str]:
        """What the fakes keep in /dev/shm."""
        return sorted(self.guest.run("ls", "/dev/shm").split())

    def restarted(self, before: int, within: float = 180) -> None:
        """Wait until another daemon is up."""
        deadline = time.monotonic() + within
        while self.guest.show("ActiveState") != "active" or self.main_pid in (0, before):
            if time.monotonic() > deadline:
                raise machine.GuestError(f"no new daemon in {within} s:\n{self.guest.journal()}")
            time.sleep(0.1)


@pytest.fixture
def service(guest: machine.Guest, request: pytest.FixtureRequest) -> Iterator[Service]:
    """A stopped genesisd without any state, with one worker configured."""
    made = Service(guest)
    made.configure("one")
    guest.run("systemctl", "daemon-reload")
    yield made
    if request.session.testsfailed:
        print(guest.journal(lines=200), guest.logs())
    _wipe(guest)


def _wipe(guest: machine.Guest) -> None:
    """Whatever the test did, the next one starts from nothing."""
    guest.attempt("systemctl", "kill", "--signal=KILL", "--kill-whom=all", "genesisd")
    guest.attempt("systemctl", "stop", "genesisd")
    guest.attempt("systemctl", "kill", "--signal=KILL", "--kill-whom=all", "genesisd")
    guest.attempt("sh", "-c", "pid=$(ps -u genesisd -o pid=) && kill -KILL $pid")
    guest.attempt("systemctl", "reset-failed", "genesisd")
    guest.attempt("sh", "-c", "rm -rf /var/lib/genesisd/* /run/genesisd /dev/shm/* /tmp/*; journalctl --rotate -q")


def answers(port: int) -> bool:
    """Whether a worker answers /health there."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()
