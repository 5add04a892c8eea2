"""What every measurement here stands on: children that tell when they started, and a look at what a process costs."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

HERE = Path(__file__).parent


def build_child(folder: Path) -> list[str]:
    """The argv of a child that costs nothing: C where there is a compiler, else Python."""
    program = folder / "child"
    if compiler := shutil.which("gcc") or shutil.which("cc"):
        made = subprocess.run([compiler, "-O1", "-o", program, HERE / "child.c"], capture_output=True, check=False)
        if made.returncode == 0:
            return [str(program)]
    return [sys.executable, "-I", "-S", str(HERE / "child.py")]


class Reports:
    """The starts of one contestant's children, as they tell them: (pid, monotonic seconds)."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._arrived = threading.Condition()
        self._seen: list[tuple[int, float]] = []
        self.dead: set[int] = set()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(str(path))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while text := self._socket.recv(64):
            pid, at = text.split()
            with self._arrived:
                self._seen.append((int(pid), int(at) / 1e9))
                self._arrived.notify_all()

    @property
    def count(self) -> int:
        """Starts so far."""
        return len(self._seen)

    def alive(self) -> list[int]:
        """Pids of children that nobody here has killed, oldest first."""
        return [pid for pid, _ in self._seen if pid not in self.dead]

    def until(self, count: int, seconds: float) -> list[tuple[int, float]]:
        """All starts, once there are ``count`` of them. Raises TimeoutError."""
        with self._arrived:
            if not self._arrived.wait_for(lambda: len(self._seen) >= count, seconds):
                raise TimeoutError(f"{len(self._seen)} of {count} starts within {seconds} s")
            return list(self._seen)

    def kill(self, pids: Sequence[int], seconds: float = 60.0) -> list[float]:
        """kill -9, and for each new start the seconds from the kill to it."""
        before = self.count
        self.dead.update(pids)
        begin = time.monotonic()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return [at - begin for _, at in self.until(before + len(pids), seconds)[before:]]

    def close(self) -> None:
        """End the reader, which waits for one more word."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(b"", str(self.path))
        self._socket.close()


class Ends:
    """The deaths of processes, seen by their pidfds."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._fds = [os.pidfd_open(pid) for pid in pids]

    def wait(self, seconds: float) -> float:
        """The monotonic time at which the last one was dead. Raises TimeoutError."""
        poll = select.poll()
        left = set(self._fds)
        for fd in left:
            poll.register(fd, select.POLLIN)
        end = time.monotonic() + seconds
        while left:
            ready = poll.poll(max(0.0, end - time.monotonic()) * 1000)
            if not ready:
                raise TimeoutError(f"{len(left)} processes still live after {seconds} s")
            for fd, _ in ready:
                poll.unregister(fd)
                left.discard(fd)
        at = time.monotonic()
        for fd in self._fds:
            os.close(fd)
        return at


def until(check: Callable[[], object], seconds: float = 60.0) -> None:
    """Poll until it is true and does not raise. Raises TimeoutError with the last problem."""
    end = time.monotonic() + seconds
    while True:
        problem: Exception | None = None
        try:
            if check():
                return
        except Exception as raised:
            problem = raised
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {problem!r}")
        time.sleep(0.02)


def pss(pid: int) -> float:
    """MiB, shared pages by their share."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) / 1024
    raise ValueError(f"no Pss for {pid}")


def cpu(pid: int) -> float:
    """Seconds that all threads of a process have run, to the nanosecond."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        total += int((task / "schedstat").read_text().split()[0])
    return total / 1e9


def there_and_back(rounds: int, names: Sequence[str]) -> Iterator[str]:
    """ABBA: a drift of the machine hits everyone alike."""
    for turn in range(rounds):
        yield from names if turn % 2 == 0 else reversed(names)


def load() -> float:
    """Load average of the last minute."""
    return os.getloadavg()[0]
