"""A box with a real daemon on it: folders of its own, free ports, genesisctl's client, and an end that leaves nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from genesisd.control.client import Client, ControlError
from tests.helpers.ports import free_port, port_range

__all__ = ["FAKE", "ROOT", "Box", "alive", "command", "descendants", "free_port", "held_back", "until"]

ROOT = Path(__file__).parents[2]
FAKE = [sys.executable, str(ROOT / "tests/helpers/fake_worker.py"), "--port", "{port}"]


def held_back(gate: Path) -> list[str]:
    """The command of a fake that says "begun" and waits while ``gate`` exists: no test need be quicker than it."""
    return ["sh", "-c", 'echo begun; while [ -e "$0" ]; do sleep 0.05; done; exec "$@"', str(gate), *FAKE]


def until(condition: Callable[[], Any], seconds: float = 60.0, what: str = "") -> Any:
    """Poll until ``condition`` gives something true; fail with its last value otherwise.

    What passes by itself may do so between two looks: ask ``Box.phases`` or ``Box.told`` for it, or a number that only
    grows. The deadline is no claim about speed.
    """
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what or condition} (last: {value!r})")
        time.sleep(0.02)


class Box:
    """One configuration and the daemons that run it, one after the other."""

    def __init__(self, folder: Path, workers: Mapping[str, Any], daemon: Mapping[str, Any] | None = None) -> None:
        self.folder = folder
        self.module = "genesisd"
        self.state = folder / "s"
        self.socket = self.state / "run" / "control.sock"
        self.file = folder / "genesisd.yaml"
        self.log = folder / "daemon.log"
        self.settings: dict[str, Any] = {
            "daemon": {
                "state_dir": str(self.state),
                "runtime_dir": str(self.state / "run"),
                "cache_dir": str(folder / "cache"),
                "port_range": port_range(len(workers)),
                **(daemon or {}),
            },
            "workers": dict(workers),
        }
        self.process: subprocess.Popen[bytes] | None = None
        self.write()

    def write(self) -> None:
        """Put the settings into the file."""
        self.file.write_text(yaml.safe_dump(self.settings))

    # --- the daemon -------------------------------------------------------------------------------------------

    def start(self, *flags: str, wait: bool = True) -> Box:
        """Start a daemon; with ``wait``, until it takes orders."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", self.module, "--config", str(self.file), *flags],
                cwd=ROOT, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        if wait:
            until(self.answers, what="the daemon answers")
        return self

    def answers(self) -> bool:
        """Whether this daemon (not an earlier one) takes orders."""
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the daemon ended with {self.process.returncode}: {self.log.read_text()[-3000:]}")
        try:
            return bool(self.status()["daemon"]["pid"] == self.process.pid)
        except ControlError:
            return False

    def signal(self, number: int) -> None:
        """Send the daemon a signal."""
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        """kill -9 of the daemon."""
        self.signal(signal.SIGKILL)
        self.ended()

    def ended(self, seconds: float = 60) -> int:
        """Wait for the daemon's end; its exit status."""
        assert self.process is not None
        code = self.process.wait(seconds)
        self.process = None
        return code

    def finish(self) -> None:
        """Whatever was done: no worker, shim, front or daemon is left."""
        try:
            if self.process is None:
                self.start(wait=True)
            self.ask("shutdown", drain=True)
            assert self.ended() == 0, self.log.read_text()[-3000:]
            until(lambda: not self.processes(), what="nothing of the box is left")
        finally:
            self.clear()

    def clear(self) -> None:
        """After a failure: end what is left, so that one red test does not make others red."""
        if self.process is not None:
            self.process.kill()
            self.ended()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # --- looking ----------------------------------------------------------------------------------------------

    def client(self) -> Client:
        """A connection of one's own."""
        return Client(self.socket)

    def ask(self, method: str, *arguments: Any, **options: Any) -> Any:
        """One question on a fresh connection."""
        with self.client() as client:
            found = getattr(client, method)(*arguments, **options)
            return list(found) if isinstance(found, Iterator) else found

    def status(self) -> dict[str, Any]:
        """The daemon and its workers."""
        found: dict[str, Any] = self.ask("status")
        return found

    def worker(self, name: str) -> dict[str, Any]:
        """One worker."""
        found: dict[str, Any] = self.ask("worker", name)
        return found

    def wait(self, name: str, *phases: str, seconds: float = 60) -> dict[str, Any]:
        """Until the worker is in one of the phases."""
        found: dict[str, Any] = self.ask("wait", name, phases, seconds)
        return found

    def told(self, worker: str | None, *kinds: str) -> list[dict[str, Any]]:
        """What the journal has of the worker (None: of all), of these kinds (none given: of all)."""
        events: list[dict[str, Any]] = self.ask("events", 0.0, follow=False, worker=worker)
        return [event for event in events if not kinds or event["kind"] in kinds]

    def phases(self, worker: str) -> list[str]:
        """Every phase that the worker came into, from its first life on."""
        return [event["fields"]["phase"] for event in self.told(worker, "worker_phase")]

    def life(self, worker: str, incarnation: int) -> dict[str, Any]:
        """Once the worker is ready in this life or a later one."""
        until(lambda: self.worker(worker)["incarnation"] >= incarnation, what=f"life {incarnation} of {worker}")
        return self.wait(worker, "ready")

    def processes(self) -> dict[int, str]:
        """Every process that has this box's folder in its command line or environment, less the daemon."""
        mark = str(self.state).encode()
        found = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) not in {os.getpid(), self.process and self.process.pid}:
                try:
                    command = (entry / "cmdline").read_bytes()
                    if command and mark in command + (entry / "environ").read_bytes():
                        found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace").strip()
                except OSError:
                    continue
        return found

    def member(self, worker: str, title: str) -> int:
        """The process of the worker's living tree whose title holds ``title``."""
        leader = self.worker(worker)["pid"]
        return next(pid for pid in descendants(leader) if title in command(pid))

    def leaders(self, worker: str) -> list[int]:
        """Living leaders of a worker, of whatever incarnation: there must never be two."""
        shims = [pid for pid, text in self.processes().items() if "shim.py" in text and f" {worker} " in f"{text} "]
        found = []
        for shim in shims:
            with contextlib.suppress(OSError):  # it has just left
                for task in Path(f"/proc/{shim}/task").iterdir():
                    found += [int(pid) for pid in (task / "children").read_text().split()]
        return [pid for pid in found if alive(pid)]


def command(pid: int) -> str:
    """A process's command line."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """Children, their children, and so on."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            children = [int(one) for one in (task / "children").read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
