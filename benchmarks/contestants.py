"""genesisd and its peers behind one face: start so many children, ask, order, add one, stop all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.rig import Ends, Reports, build_child, until
from tests.helpers.box import Box, free_port

BIN = Path(sys.executable).parent
QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


def end(process: subprocess.Popen[bytes], seconds: float = 15) -> None:
    """Ask it to end, then insist: circus was seen to wait for ever for children that ignore SIGTERM."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Contestant:
    """One supervisor with ``count`` children. A context manager: on leaving, nothing of it is left."""

    label: ClassVar[str]
    pause: float = 0.1
    """Seconds between a restart and the next kill, so that each one counts as a first."""

    def __init__(self, count: int, *, stubborn: bool = False, grace: float = 10.0) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="gb-"))
        self.count = count
        self.grace = grace
        self.reports = Reports(self.folder / "reports")
        self.child = [*build_child(self.folder), str(self.reports.path), *(["stubborn"] if stubborn else [])]
        self.pid = 0
        self.started_in = 0.0

    def __enter__(self) -> Any:
        begin = time.monotonic()
        try:
            self.start()
            starts = self.reports.until(self.count, 120)
            self.started_in = max(at for _, at in starts) - begin
            self.settle()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.end()
        finally:
            for pid in self.reports.alive():
                self._kill_child(pid)
            self.reports.close()
            shutil.rmtree(self.folder, ignore_errors=True)

    def _kill_child(self, pid: int) -> None:
        """What its supervisor left behind; a pid may belong to somebody else by now."""
        with contextlib.suppress(OSError):
            if self.child[0].encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                os.kill(pid, signal.SIGKILL)

    def start(self) -> None:
        """Begin; children report when they live."""

    def settle(self) -> None:
        """Until it says itself that all are up."""

    def end(self) -> None:
        """Stop everything."""

    def ask(self) -> object:
        """The state of all children, on the kept connection."""

    def command(self) -> list[str]:
        """What a person types to see it."""
        raise NotImplementedError

    def stop_all(self) -> None:
        """Order the end of all children; may return before they are dead."""

    def write(self, *, extra: bool) -> None:
        """The configuration file, with one more child or without."""

    def reload(self) -> None:
        """Read the configuration again, after ``write(extra=True)``."""

    def drop(self) -> None:
        """The added one leaves again."""

    def stop_seconds(self) -> float:
        """From the order until the last child is dead."""
        ends = Ends(self.reports.alive())
        begin = time.monotonic()
        self.stop_all()
        return ends.wait(60) - begin


class Genesisd(Contestant):
    """The daemon as it is shipped, with real shims; workers without a front and without probes."""

    label = "genesisd"
    stopped = False

    def start(self) -> None:
        self.metrics = f"127.0.0.1:{free_port()}"
        self.spec = {
            "command": self.child,
            "probes": {"startup": [], "readiness": [], "liveness": []},
            # A window so short that each restart is the first of its window.
            "restart": {"budget": 100, "window": 0.05, "backoff": {"initial": 0, "max": 0}},
            "stop": {"drain": 0, "grace": self.grace},
        }
        workers = {f"w-{number:03}": self.spec for number in range(self.count)}
        self.box = Box(self.folder, workers, {"metrics": {"listen": self.metrics}})
        self.box.start()
        assert self.box.process is not None
        self.pid = self.box.process.pid
        self.client = self.box.client()

    def settle(self) -> None:
        until(lambda: all(worker["phase"] == "ready" for worker in self.client.workers()), 120)

    def end(self) -> None:
        self.client.close()
        if self.stopped:
            self.box.ended()
            self.box.clear()
        else:
            self.box.finish()

    def shims(self) -> list[int]:
        """Pids of the shims."""
        return [worker["shim"]["pid"] for worker in self.client.workers()]

    def ask(self) -> object:
        return self.client._send("GET", "/v1/status", None, 10).read()  # noqa: SLF001 - without the parsing

    def command(self) -> list[str]:
        return [str(BIN / "genesisctl"), "--socket", str(self.box.socket), "status"]

    def stop_all(self) -> None:
        self.client.shutdown(drain=True)
        self.stopped = True

    def write(self, *, extra: bool) -> None:
        self.box.settings["workers"].pop("extra", None)
        if extra:
            self.box.settings["workers"]["extra"] = self.spec
        self.box.write()

    def reload(self) -> None:
        self.client.reload()

    def drop(self) -> None:
        self.write(extra=False)
        self.reload()
        until(lambda: len(self.client.workers()) == self.count)


@contextlib.contextmanager
def side_by_side(kinds: Sequence[type[Contestant]], count: int, **options: Any) -> Iterator[dict[str, Any]]:
    """All of them at once, by label. Idle, they cost each other next to nothing; a peer that fails is left out."""
    with contextlib.ExitStack() as stack:
        running: dict[str, Any] = {}
        for kind in kinds:
            try:
                running[kind.label] = stack.enter_context(kind(count, **options))
            except Exception as problem:
                if kind is Genesisd:
                    raise
                print(json.dumps({"not measured": kind.label, "why": repr(problem)}), file=sys.stderr)
        yield running
