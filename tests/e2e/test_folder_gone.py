"""Folders that vanish under the daemon: the runtime folder at a logout, the state folder by mistake."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from genesisd.control.client import ControlError
from tests.e2e.test_daemon import complete
from tests.helpers.box import FAKE, alive, free_port, until

SPEC = {"command": [*FAKE, "--bare"], "stop": {"drain": "1s", "grace": "1s"}}


def served(port: int) -> bool:
    """Whether the public address answers."""
    try:
        return complete(port)["usage"]["completion_tokens"] == 4
    except OSError:
        return False


def reached(one) -> bool:
    """Whether the daemon takes orders."""
    try:
        return bool(one.status())
    except ControlError:
        return False


def gone(folder: Path) -> None:
    """Take a folder away in which processes are just making files."""

    def tried() -> bool:
        shutil.rmtree(folder, ignore_errors=True)
        return not folder.exists()

    until(tried, what=f"{folder} is gone")


def test_without_its_runtime_folder_the_daemon_is_reachable_again(box):
    """Its socket is made anew; nobody is restarted for it, and orders are carried out."""
    one = box({"w": {**SPEC, "listen": f"127.0.0.1:{free_port()}"}})
    pid = one.wait("w", "ready")["pid"]
    gone(one.state / "run")
    until(lambda: reached(one), what="the daemon answers again")
    assert one.worker("w")["pid"] == pid
    one.ask("order", "restart", "w")
    one.life("w", 2)


def test_a_new_daemon_finds_everything_after_its_runtime_folder_vanished(box):
    """Above all the front, whose address would else be taken by a process that nobody knows."""
    port = free_port()
    one = box({"w": {**SPEC, "listen": f"127.0.0.1:{port}"}})
    pid = one.wait("w", "ready")["pid"]
    gone(one.state / "run")
    one.kill()
    one.start()
    after = one.life("w", 2)
    until(lambda: served(port))
    assert not alive(pid)
    assert one.leaders("w") == [after["pid"]]
    assert sum("genesisd.front" in text for text in one.processes().values()) == 1


def test_the_state_folder_vanishes(box):
    """What is not kept any more is lost, and nothing else: deaths are met, and the next daemon adopts."""
    one = box({"w": SPEC, "v": SPEC}, start=False)
    runtime = one.folder / "r"
    one.settings["daemon"]["runtime_dir"] = str(runtime)
    one.socket = runtime / "control.sock"
    one.write()
    one.start()
    kept = one.wait("v", "ready")["pid"]
    pid = one.wait("w", "ready")["pid"]
    gone(one.state)
    os.kill(pid, signal.SIGKILL)
    one.life("w", 2)
    one.kill()
    one.start()
    assert one.worker("v")["pid"] == kept
    one.wait("w", "ready")
