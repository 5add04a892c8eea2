"""SIGSTOP: who is stopped answers nobody and dies of nothing, which is worse than dead."""

from __future__ import annotations

import os
import signal
import time

from tests.e2e.test_daemon import complete
from tests.helpers.box import FAKE, free_port, until

SPEC = {"command": [*FAKE, "--bare"], "stop": {"drain": "1s", "grace": "1s"}}


def front_of(one) -> int | None:
    """The pid of the box's only front."""
    return next((pid for pid, text in one.processes().items() if "genesisd.front" in text), None)


def test_a_stopped_front_is_replaced_though_nobody_asks(box):
    """It would keep the public address shut; the worker behind it is not touched."""
    port = free_port()
    one = box({"w": {**SPEC, "listen": f"127.0.0.1:{port}"}})
    before = one.wait("w", "ready")
    stopped = front_of(one)
    os.kill(stopped, signal.SIGSTOP)
    until(lambda: front_of(one) not in {None, stopped}, 60, "another front")

    def answered() -> bool:
        try:
            return complete(port)["usage"]["completion_tokens"] == 4
        except OSError:
            return False

    until(answered)
    assert one.worker("w")["pid"] == before["pid"]


def test_a_daemon_that_was_stopped_blames_nobody(box):
    """After a long absence nobody is restarted and no front is replaced for what was not looked at."""
    one = box({"w": {**SPEC, "listen": f"127.0.0.1:{free_port()}"}, "tree": {"command": FAKE}})
    before = {name: one.wait(name, "ready")["pid"] for name in ("w", "tree")}
    front = front_of(one)
    one.signal(signal.SIGSTOP)
    time.sleep(15)  # longer than any window of a probe, and than two unanswered questions
    one.signal(signal.SIGCONT)
    until(one.answers)
    time.sleep(5)  # for what was overdue
    assert {name: one.wait(name, "ready")["pid"] for name in before} == before
    assert front_of(one) == front


def test_a_worker_under_a_stopped_shim_is_restarted_all_the_same(box):
    """An order and a death are both carried out, without two leaders at any time."""
    one = box({"ordered": SPEC, "killed": SPEC})
    found = {name: one.wait(name, "ready") for name in ("ordered", "killed")}
    for name in found:
        os.kill(one.worker(name)["shim"]["pid"], signal.SIGSTOP)
    one.ask("order", "restart", "ordered")
    os.kill(found["killed"]["pid"], signal.SIGKILL)
    for name in found:
        until(lambda name=name: one.worker(name)["incarnation"] == 2, 60, f"{name} is restarted")
        pid = one.wait(name, "ready")["pid"]
        assert one.leaders(name) == [pid]
