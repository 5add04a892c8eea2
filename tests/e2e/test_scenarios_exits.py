"""T11, T18 and T19: how a worker may end, what was asked for and what was not, and commands that cannot run."""

from __future__ import annotations

import os
import signal

import pytest

from tests.e2e.test_scenarios_cards import TRIES
from tests.helpers.box import FAKE, alive, descendants, until
from tests.helpers.fakevllm import ledger

QUICK = {"stop": {"drain": "1s", "grace": "1s"}}
AT_ONCE = {"initial": "0s", "max": "0s"}


def spec(*flags: str, **fields) -> dict:
    return {"command": [*FAKE, *flags], **QUICK, **fields}


@pytest.mark.parametrize(
    ("role", "number"), [("Worker_TP1", signal.SIGSEGV), ("EngineCore", signal.SIGKILL)], ids=["segfault", "oom-kill"]
)
def test_t11_an_engine_process_dies_and_the_server_exits_0(box, role, number):
    """T11 a and d: a segfault of a worker, and what the kernel's OOM killer does, are crashes although vLLM says 0."""
    one = box({"w": spec("--workers", "2")})
    before = one.wait("w", "ready")
    tree = descendants(before["pid"])
    os.kill(one.member("w", role), number)
    after = one.life("w", 2)
    assert (after["last_exit"]["code"], after["restarts"]["in_window"]) == (0, 1)
    assert [pid for pid in tree if alive(pid)] == []


def test_t11_the_engine_is_dead_and_the_server_stays(box):
    """T11 b: /health says 200 for ever; it is replaced as hung, and the restart counts."""
    one = box({"w": spec("--on-engine-death", "200")})
    before = one.wait("w", "ready")
    # What dies before the first look at the tree is missed by the probe of processes, and found by that of progress
    # once its time for a first compile is over.
    until(lambda: any("1 engine process" in str(probe["summary"]) or "2 engine process" in str(probe["summary"])
                      for probe in one.worker("w")["probes"]))  # fmt: skip
    os.kill(one.member("w", "EngineCore"), signal.SIGKILL)
    after = one.life("w", 2)
    assert (after["pid"] != before["pid"], after["restarts"]["in_window"]) == (True, 1)
    assert not alive(before["pid"])


def test_t11_an_operators_stop_in_the_middle_of_loading(box, tmp_path):
    """T11 c: workers that cling to their cards are swept, the memory is free, and no restart is counted."""
    folder = str(tmp_path / "vram")
    flags = ("--workers", "2", "--setsid-workers", "--clinging-workers", "--vram-ledger", folder)
    one = box({"w": spec(*flags, "--boot-seconds", "600")})
    held = until(lambda: len(found := ledger.holders(folder).get(0, {})) == 2 and found)
    one.ask("order", "stop", "w")
    found = one.wait("w", "stopped")
    assert (found["reason"]["code"], found["restarts"]["in_window"], found["incarnation"]) == ("operator", 0, 1)
    assert ledger.holders(folder) == {}
    assert [pid for pid in held if alive(pid)] == []


def stopped_between_lives(one, worker: str) -> bool:
    """Order a stop of a worker that keeps dying; whether it found it between two lives, which is not in our hands."""
    one.ask("order", "start", worker)
    one.wait(worker, "backoff")
    one.ask("order", "stop", worker)
    one.wait(worker, "stopped")
    return one.phases(worker)[-2:] == ["backoff", "stopped"]


def test_t18_a_stop_between_two_lives_is_final(box):
    """T18: it is given while the restarter waits to try again, and neither that nor a new daemon undoes it."""
    slow = {"budget": 9, "backoff": {"initial": "1s", "max": "1s"}}
    one = box({"w": spec("--die-after", "0.2", restart=slow), "other": spec("--bare")})
    until(lambda: stopped_between_lives(one, "w"))
    lives = one.worker("w")["incarnation"]
    one.kill()
    one.start()
    one.ask("reload")
    # Somebody else's whole life passes meanwhile: what would have brought it back has had its turn.
    one.wait("other", "ready")
    os.kill(one.worker("other")["pid"], signal.SIGKILL)
    one.life("other", 2)
    found = one.worker("w")
    assert (found["phase"], found["incarnation"], found["wanted"]) == ("stopped", lives, False)


def test_t18_a_stop_of_a_dying_worker_is_final(box):
    """T18: the leader dies of itself while it is being stopped, which is no crash."""
    one = box({"w": spec("--linger", "600", stop={"drain": "1s", "grace": "300s"})})
    before = one.wait("w", "ready")
    one.ask("order", "stop", "w")
    one.wait("w", "stopping")
    os.kill(before["pid"], signal.SIGSEGV)
    found = one.wait("w", "stopped")
    assert (found["incarnation"], found["restarts"]["in_window"]) == (1, 0)


def test_t19_commands_that_fail_at_once_are_no_busy_loop(box):
    """T19: ten crash as fast as they can and one cannot run; each has the lives of its budget, and control answers."""
    restart = {"budget": 3, "window": "600s", "backoff": AT_ONCE}
    workers = {f"bad{n}": {"command": ["/bin/false"], **QUICK, "restart": restart} for n in range(10)}
    one = box(workers | {"none": {"command": ["/nonexistent/vllm"], **QUICK, "restart": restart}, "w": spec()})
    with one.client() as client:
        while any(worker["phase"] != "failed" for worker in client.workers() if worker["name"] != "w"):
            pass  # every answer is one that the loop of the daemon had time for
    lives = {name: one.worker(name)["incarnation"] for name in workers}
    assert lives == dict.fromkeys(workers, 4)
    assert one.worker("none")["reason"]["code"] != "budget-spent"
    tries = {name: one.told(name, *TRIES) for name in workers}
    assert one.wait("w", "ready")["restarts"]["in_window"] == 0
    os.kill(one.worker("w")["pid"], signal.SIGKILL)
    one.life("w", 2)
    assert {name: one.told(name, *TRIES) for name in workers} == tries
    assert {name: one.worker(name)["incarnation"] for name in workers} == lives
