"""Start ``fake_worker.py`` from a test, flip its faults, and leave nothing of its tree behind."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

PROGRAM = Path(__file__).with_name("fake_worker.py")
T = TypeVar("T")
_ADDRESS = re.compile(r"running on http://(\S+):(\d+) ")


def until(ask: Callable[[], T], seconds: float = 60.0, every: float = 0.01) -> T:
    """The first true answer of ``ask``; AssertionError once the deadline has passed."""
    end = time.monotonic() + seconds
    while not (answer := ask()):
        assert time.monotonic() < end, f"not true within {seconds} s: {ask}"
        time.sleep(every)
    return answer


def cmdline(pid: int) -> str:
    """A process's command line with spaces, or '' once it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def alive(pid: int) -> bool:
    """Whether the process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Fake:
    """A running fake. ``title`` is its VLLM_PROCESS_NAME_PREFIX, unique so that orphans are found again."""

    def __init__(self, folder: Path, *flags: str, wait: bool = True, port: int = 0, title: str = "") -> None:
        name = f"fake-{os.getpid()}-{time.monotonic_ns()}"
        self.title = title or name
        self.control = folder / f"{name}.json"
        self.log = folder / f"{name}.log"
        self.host, self.port = "127.0.0.1", port
        argv = [sys.executable, str(PROGRAM), "--port", str(port), "--control", str(self.control), *flags]
        with self.log.open("wb") as log:
            env = os.environ | {"VLLM_PROCESS_NAME_PREFIX": self.title}
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, env=env, start_new_session=True)
        self.pid = self.process.pid
        if wait:
            self.port = int(until(self._address)[2])

    def _address(self) -> "re.Match[str] | None":
        assert self.process.poll() is None, self.log.read_text()
        return _ADDRESS.search(self.log.read_text())

    @property
    def url(self) -> str:
        """The engine's own address."""
        return f"http://{self.host}:{self.port}"

    def faults(self, **values: Any) -> None:
        """Flip faults (``fakevllm/control.py`` lists them); no values: none."""
        fresh = self.control.with_suffix(".new")
        fresh.write_text(json.dumps(values))
        fresh.rename(self.control)

    def members(self) -> list[int]:
        """Pids of the living tree: the session's, and those with its title."""
        pids = [int(one.name) for one in Path("/proc").iterdir() if one.name.isdecimal()]
        return sorted(pid for pid in pids if alive(pid) and self._ours(pid))

    def _ours(self, pid: int) -> bool:
        with contextlib.suppress(OSError):
            if os.getsid(pid) == self.pid:
                return True
        return cmdline(pid).startswith(self.title)

    def named(self, role: str) -> int:
        """Pid of the one member whose command line contains ``role``."""
        found = [pid for pid in self.members() if role in cmdline(pid)]
        assert len(found) == 1, f"{role}: {found}"
        return found[0]

    def send(self, role: str, number: int) -> None:
        """Signal a member by role (``EngineCore``, ``Worker``, ``resource_tracker``)."""
        os.kill(self.named(role), number)

    def close(self) -> None:
        """SIGKILL whatever is left and reap the leader."""
        for _ in range(3):  # a fork in flight is caught by the next round
            for pid in self.members():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        self.process.wait()


@contextlib.contextmanager
def running(folder: Path, *flags: str, **options: Any) -> Iterator[Fake]:
    """A fake for the length of a block."""
    fake = Fake(folder, *flags, **options)
    try:
        yield fake
    finally:
        fake.close()
