"""A daemon without descriptors: it waits, says so in few words, and goes on when there are some again."""

from __future__ import annotations

import os
import resource
import signal
import socket
import time
from pathlib import Path

from genesisd.control.client import ControlError
from tests.helpers.box import FAKE, until

SPEC = {"command": [*FAKE, "--bare"], "stop": {"drain": "1s", "grace": "1s"}}
SHORT = 64


def test_connections_take_all_descriptors(box):
    """Its log is not flooded, its workers are kept, and it answers once the connections are gone."""
    one = box({"w": SPEC, "v": SPEC})
    pid = one.wait("v", "ready")["pid"]
    one.wait("w", "ready")
    resource.prlimit(one.process.pid, resource.RLIMIT_NOFILE, (SHORT, SHORT))
    taken, began = [], time.monotonic()
    for _ in range(2 * SHORT):
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(str(one.socket))
        taken.append(connection)
    until(lambda: len([*Path(f"/proc/{one.process.pid}/fd").iterdir()]) >= SHORT - 1)
    until(lambda: "out of system resource" in one.log.read_text())
    complaints = one.log.read_text().count("out of system resource")
    assert complaints < 10 + time.monotonic() - began  # one a second, not one a try
    for connection in taken:
        connection.close()

    def answers() -> bool:
        try:
            return one.worker("v")["pid"] == pid
        except ControlError:
            return False

    until(answers)
    os.kill(one.worker("w")["pid"], signal.SIGKILL)
    one.life("w", 2)
