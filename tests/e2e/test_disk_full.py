"""A full disk: workers are supervised all the same, it is said that nothing is kept, and room mends it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.test_folder_gone import reached
from tests.helpers.box import FAKE, Box, until

SPEC = {"command": [*FAKE, "--bare"], "stop": {"drain": "1s", "grace": "1s"}}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MiB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("needs the right to mount a tmpfs")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path) -> Path:
    """Leave no room."""
    path = disk / "filled"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(fd, b"x" * 4096):
            pass
    except OSError:
        pass
    finally:
        os.close(fd)
    return path


def on(disk: Path, box, **workers) -> Box:
    """A box whose state, and nothing else, is on the small disk."""
    one = box(workers, start=False)
    one.state = disk / "s"
    runtime = one.folder / "r"
    one.socket = runtime / "control.sock"
    one.settings["daemon"] |= {"state_dir": str(one.state), "runtime_dir": str(runtime)}
    one.write()
    return one


def killed_and_back(one: Box, name: str) -> None:
    """A dead leader is replaced."""
    before = one.worker(name)
    os.kill(before["pid"], signal.SIGKILL)
    assert one.life(name, before["incarnation"] + 1)["incarnation"] == before["incarnation"] + 1


def test_the_disk_is_full_and_has_room_again(disk, box):
    """Deaths and orders are met, a new daemon starts and adopts, logs hold nobody up; afterwards all is kept again."""
    one = on(disk, box, w=SPEC, noisy={"command": [*FAKE, "--bare", "--log-flood", str(3 << 20)]})
    one.start()
    one.wait("w", "ready")
    pid = one.wait("noisy", "ready")["pid"]
    filled = fill(disk)
    killed_and_back(one, "w")
    until(lambda: one.status()["daemon"]["store_ok"] is False)
    one.ask("order", "stop", "w")
    one.wait("w", "stopped")
    one.ask("order", "start", "w")
    kept = one.wait("w", "ready")["pid"]
    one.kill()
    one.start()
    assert (one.worker("w")["pid"], one.worker("noisy")["pid"]) == (kept, pid)
    killed_and_back(one, "w")
    filled.unlink()
    one.ask("order", "stop", "w")
    one.wait("w", "stopped")
    one.kill()
    one.start()
    assert one.worker("w")["phase"] == "stopped"
    assert "Traceback" not in one.log.read_text()
    one.ask("order", "start", "w")
    one.wait("w", "ready")


def test_a_first_start_on_a_full_disk(disk, box):
    """It either runs or says in a line what is wrong; never a traceback."""
    one = on(disk, box, w=SPEC)
    one.state.mkdir()
    filled = fill(disk)
    one.start(wait=False)
    until(lambda: one.process.poll() is not None or reached(one))
    if one.process.poll() is not None:
        assert one.ended() == 1
    assert "Traceback" not in one.log.read_text()
    filled.unlink()
    if one.process is None:
        one.start()
    one.ask("order", "start", "w")
    one.wait("w", "ready")
