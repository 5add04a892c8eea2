"""What ``make run`` promises: a guide, a ready worker, and after Ctrl-C nothing but the state folder and the cache."""

from __future__ import annotations

import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from genesisd.demo.locate import locate
from tests.helpers.box import alive, command, descendants, free_port
from tests.real.replies import ask, golden_cases
from tests.real.serving import RealVllm, Server
from tests.real.supervised import CACHE, EXAMPLE, ROOT, START_SECONDS, left_behind, listing, residue, until


def test_the_demonstration_guides_serves_and_leaves_nothing(real_vllm_env: RealVllm) -> None:
    """The guide names the URL, the golden text is answered there, and Ctrl-C ends everything with status 0."""
    with _home() as folder:
        port, began = free_port(), time.monotonic()
        with _demonstration(folder, _config(folder, port)) as (process, said):
            told = _read(said, r"^Ctrl-C here")
            assert f"tiny answers at http://127.0.0.1:{port}" in told
            assert "Three things to try" in told
            print(f"\nready after {time.monotonic() - began:.1f} s")
            server = Server(f"http://127.0.0.1:{port}", port, process, folder / "out")
            hello = next(case for case in golden_cases(locate().path) if case["kind"] == "plain")
            assert ask(server, hello, stream=False) == hello["expect"]
            _interrupt(process, folder, least=5)  # shim, front, API server, EngineCore, Worker


def test_ctrl_c_in_the_middle_of_a_start_leaves_nothing(real_vllm_env: RealVllm) -> None:
    """The engine's processes are just being born, and so is what they put into /dev/shm."""
    with _home() as folder, _demonstration(folder, _config(folder, free_port())) as (process, said):
        _read(said, "tiny: starting, waiting for it to answer")
        until(lambda: any("EngineCore" in command(pid) for pid in _processes(folder / "state")), every=0.02)
        _interrupt(process, folder, least=4)


def _interrupt(process: subprocess.Popen[str], folder: Path, least: int) -> None:
    """Ctrl-C as a terminal gives it, to the whole foreground group; nothing may live on."""
    ours = {pid: command(pid) for pid in _processes(folder / "state")}
    assert len(ours) >= least, ours
    asked = time.monotonic()
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(240) == 0
    print(f"\nended {time.monotonic() - asked:.1f} s after Ctrl-C")
    left = {pid: text for pid, text in ours.items() if pid != process.pid and alive(pid)}
    assert left == {}


@contextmanager
def _home() -> Iterator[Path]:
    """A folder with an empty home in it; at the end only the state folder was written to, here and elsewhere."""
    with tempfile.TemporaryDirectory(prefix="gr-", dir="/tmp") as name:
        folder, before = Path(name), residue()
        for part in ("config", "home", "tmp", "state"):
            (folder / part).mkdir(mode=0o700)
        yield folder
        written = listing(folder) - listing(folder / "state")
        assert written == {str(folder / part) for part in ("config", "config/cpu.yaml", "home", "tmp", "state")}
        assert left_behind(before) == set()


def _config(folder: Path, port: int) -> Path:
    """A copy of the example on free ports, with the cache that is built already."""
    settings = yaml.safe_load(EXAMPLE.read_text())
    settings["daemon"]["metrics"]["listen"] = f"127.0.0.1:{free_port()}"
    settings["daemon"]["cache_dir"] = str(CACHE)
    settings["pins"] = str(ROOT / "etc" / "pins.yaml")
    settings["workers"]["tiny"]["listen"] = f"127.0.0.1:{port}"
    file = folder / "config" / "cpu.yaml"
    file.write_text(yaml.safe_dump(settings))
    return file


@contextmanager
def _demonstration(folder: Path, config: Path) -> Iterator[tuple[subprocess.Popen[str], queue.Queue[str]]]:
    """The daemon as the Makefile starts it, in a home of its own."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    env = outside | {"HOME": str(folder / "home"), "TMPDIR": str(folder / "tmp"), "PYTHONDONTWRITEBYTECODE": "1"}
    env["GENESISD_STATE"] = str(folder / "state")
    argv = [sys.executable, "-m", "genesisd", "--config", str(config), "--foreground", "--guide"]
    said: queue.Queue[str] = queue.Queue()
    process = subprocess.Popen(
        argv, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    reader = threading.Thread(target=lambda: [said.put(line) for line in process.stdout or ()], daemon=True)
    reader.start()
    try:
        yield process, said
    finally:
        if process.poll() is None:
            left = {process.pid, *_processes(folder / "state")}
            for pid in left:
                os.kill(pid, signal.SIGKILL)
            process.wait()
        reader.join()
        process.stdout.close()


def _read(said: queue.Queue[str], pattern: str) -> str:
    """All that the guide said, up to a line that holds the pattern."""
    told = ""
    while not re.search(pattern, told, re.MULTILINE):
        try:
            told += said.get(timeout=START_SECONDS)
        except queue.Empty:
            raise AssertionError(f"no line with {pattern!r} came:\n{told}") from None
    return told


def _processes(state: Path) -> list[int]:
    """Shim and front, by their command lines, and all that is below them."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                text = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if str(state).encode() in text:
                found += [int(entry.name), *descendants(int(entry.name))]
    return sorted(set(found))
