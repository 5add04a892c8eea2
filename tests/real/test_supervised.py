"""A real vLLM under supervision: whatever is killed or stopped comes back, and no answer is lost that need not be.

One worker serves all tests: each recovery is the start of the next. Every test waits for readiness first, so each
also runs alone.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from genesisd.demo.locate import locate
from genesisd.supervisor import shared_memory
from tests.helpers.box import alive
from tests.real.replies import ask, expected, fits, golden_cases
from tests.real.serving import RealVllm
from tests.real.supervised import (
    LONG,
    Flow,
    Rig,
    ask_engine,
    engine_url,
    example,
    flowing,
    gone,
    left_behind,
    real_box,
    residue,
    scratch,
    until,
)

CASES = [case for case in golden_cases(locate().path) if fits(case, "hermes", strict=True)]
PLAIN = next(case for case in CASES if case["kind"] == "plain")
DETECTION = 15.0
"""Seconds in which a hang must be found at default settings."""
SLACK = 15.0
"""Seconds that a loaded machine may add, on which any of the processes may wait for a core or a disk."""


@pytest.fixture(autouse=True)
def _no_child_left() -> None:
    """Not asked here: tests replace the module's daemon, and the box looks at its end that nothing is left."""


@pytest.fixture(scope="module")
def rig(real_vllm_env: RealVllm) -> Iterator[Rig]:
    """The worker of etc/examples/cpu.yaml; after all tests, the machine is as it was."""
    before = residue()
    settings = example()
    settings["env"]["VLLM_SERVER_DEV_MODE"] = "1"  # offers a request that wedges the engine
    with real_box({"tiny": settings}) as box:
        rig = Rig(box, "tiny")
        rig.ready()
        yield rig
        if box.process is not None:
            box.ask("order", "stop", "tiny")
            rig.reaches("stopped")
            assert scratch(box, "tiny") == []
    assert left_behind(before) == set()


def test_the_golden_text_through_the_front(rig: Rig) -> None:
    """Forty golden cases, whole and streamed, are answered exactly at the public address."""
    rig.ready()
    cases = CASES[:: max(1, len(CASES) // 40)]
    for stream in (False, True):
        with ThreadPoolExecutor(4) as pool:
            replies = list(pool.map(lambda case, s=stream: ask(rig.door, case, stream=s), cases))
        assert replies == [expected(case, "hermes", stream=stream, patched=True) for case in cases]


def test_t8_a_killed_api_server_leaves_no_orphan_and_its_next_life_answers(rig: Rig) -> None:
    """kill -9 of the leader: the tree is empty, a request of that moment is held, one restart is counted."""
    before, tree, began = rig.ready(), rig.tree(), time.time()
    assert len(tree) >= 4
    os.kill(before["pid"], signal.SIGKILL)
    swept = until(lambda: gone(tree) and time.time(), every=0.01)
    until(lambda: rig.look()["phase"] != "ready")
    held = Flow(rig.door.url, tokens=5)
    after = rig.back(before)
    assert held.tokens() == 5
    assert swept <= rig.events(began, "worker_spawned")[-1]["at"] <= (held.ended_at or 0)
    assert after["restarts"]["in_window"] == 1
    assert (after["last_exit"]["signal"], after["last_exit"]["cause"]) == (9, "killed")
    print(f"\nAPI server killed: tree empty after {swept - began:.2f} s, ready after {time.time() - began:.1f} s")


@pytest.mark.parametrize("role", ["EngineCore", "Worker"])
def test_a_killed_engine_process_is_a_crash(rig: Rig, role: str) -> None:
    """kill -9 of EngineCore or Worker: the API server leaves with status 0, which nobody asked for."""
    before, tree, began = rig.ready(), rig.tree(), time.time()
    os.kill(rig.member(role), signal.SIGKILL)
    after = rig.back(before)
    assert gone(tree)
    if after["last_exit"]["cause"] == "stopped":  # on busy cores the probe may be faster than the server's own end
        (told,) = rig.events(began, "liveness_failed")
        assert role in told["fields"]["summary"]
    else:
        assert (after["last_exit"]["code"], after["last_exit"]["cause"]) == (0, "engine-dead")
    assert after["restarts"]["in_window"] == 1
    assert ask(rig.door, PLAIN, stream=False) == expected(PLAIN, "hermes", stream=False)
    print(f"\n{role} killed: ready after {time.time() - began:.1f} s; {after['last_exit']['text']}")


def test_a_killed_shim_is_replaced_without_cutting_a_stream(rig: Rig) -> None:
    """kill -9 of the shim: degraded, drained, replaced; the stream of that moment completes."""
    before, tree, began = rig.ready(), rig.tree(), time.time()
    (flow,) = flowing(rig.door.url, 12)
    os.kill(before["shim"]["pid"], signal.SIGKILL)
    after = rig.back(before)
    assert flow.tokens() == 12 * LONG
    assert gone(tree)
    assert [phase for phase in rig.phases(began) if phase in {"degraded", "draining"}] == ["degraded", "draining"]
    assert (after["shim"]["pid"] != before["shim"]["pid"], alive(after["shim"]["pid"])) == (True, True)
    print(f"\nshim killed: ready after {time.time() - began:.1f} s")


def test_a_killed_front_is_replaced_and_the_worker_untouched(rig: Rig) -> None:
    """kill -9 of the front: the same address answers again, from the same process."""
    before, front, began = rig.ready(), rig.front(), time.time()
    os.kill(front, signal.SIGKILL)
    until(lambda: ask_engine(rig.door.url, "/v1/models") == 200, every=0.02)
    print(f"\nfront killed: answers again after {time.time() - began:.2f} s")
    assert ask(rig.door, PLAIN, stream=True) == expected(PLAIN, "hermes", stream=True)
    after = rig.look()
    assert (after["pid"], after["phase"], rig.front() != front) == (before["pid"], "ready", True)


def test_t1_a_stopped_engine_is_found_while_health_says_200(rig: Rig) -> None:
    """SIGSTOP of EngineCore: found in time, evidence shows the stopped process, restarted."""
    before, tree, core = rig.ready(), rig.tree(), rig.member("EngineCore")
    began = time.time()
    os.kill(core, signal.SIGSTOP)
    assert ask_engine(engine_url(before["pid"]), "/health") == 200
    rig.back(before)
    (found,) = rig.events(began, "liveness_failed")
    seconds = next(event["at"] for event in rig.events(began, "worker_phase")) - began
    print(
        f"\nEngineCore stopped: found after {seconds:.2f} s, ready after {time.time() - began:.1f} s: {found['fields']}"
    )
    assert seconds <= DETECTION + SLACK
    assert (evidence(rig)["reason"], state_of(core, evidence(rig))) == ("hung", "T")
    assert gone(tree)


def test_t1_a_wedged_engine_is_found_and_ended_though_it_ignores_sigterm(rig: Rig) -> None:
    """EngineCore's output thread dies: everything runs, /health is 200, nothing is answered, SIGTERM is not obeyed."""
    before, tree = rig.ready(), rig.tree()
    url, began = engine_url(before["pid"]), time.time()
    ask_engine(url, "/collective_rpc", {"method": "get_kv_cache_spec"}, timeout=2)
    assert ask_engine(url, "/health") == 200
    rig.back(before)
    (found,) = rig.events(began, "liveness_failed")
    seconds = next(event["at"] for event in rig.events(began, "worker_phase")) - began
    print(
        f"\nEngineCore wedged: found after {seconds:.2f} s, ready after {time.time() - began:.1f} s: {found['fields']}"
    )
    assert found["fields"]["summary"].startswith("progress")
    assert seconds <= DETECTION + SLACK
    assert gone(tree)


def test_a_restart_in_service_cuts_nothing(rig: Rig) -> None:
    """An ordered restart while three streams flow: all complete, and a new request waits for the next life."""
    before, tree, began = rig.ready(), rig.tree(), time.time()
    flows = flowing(rig.door.url, 1, 1, 1)
    rig.box.ask("order", "restart", "tiny")
    # Asked of the journal: on a disk that is slow to keep the new phase, draining is over within one look.
    until(lambda: "draining" in rig.phases(began), every=0.01)
    held = Flow(rig.door.url, tokens=5)
    assert [flow.tokens() for flow in flows] == [LONG, LONG, LONG]
    after = rig.back(before)
    assert held.tokens() == 5
    assert (held.ended_at or 0) >= rig.events(began, "worker_spawned")[-1]["at"]
    assert (after["restarts"]["in_window"], gone(tree)) == (0, True)
    print(f"\nrestart in service: ready after {time.time() - began:.1f} s")


def test_t13_a_stream_runs_through_the_death_of_the_daemon(rig: Rig) -> None:
    """kill -9 of the daemon: the next one adopts the same process, ready at once, and the stream completes."""
    before = rig.ready()
    (flow,) = flowing(rig.door.url, 12)
    rig.box.kill()
    began = time.time()
    rig.box.start()
    after = rig.look()
    adopted = (after["pid"], after["incarnation"], after["phase"], after["adopted"])
    assert adopted == (before["pid"], before["incarnation"], "ready", True)
    assert flow.tokens() == 12 * LONG
    assert ask(rig.door, PLAIN, stream=False) == expected(PLAIN, "hermes", stream=False)
    print(f"\ndaemon killed: adopted after {time.time() - began:.2f} s")


def test_keeper_and_leader_killed_at_once_leave_no_orphan(rig: Rig) -> None:
    """kill -9 of shim and API server together, the daemon dead as well: only marks are left to find the tree by."""
    before, tree = rig.ready(), rig.tree()
    rig.box.kill()
    os.kill(before["shim"]["pid"], signal.SIGKILL)
    os.kill(before["pid"], signal.SIGKILL)
    rig.box.start()
    rig.back(before)
    assert gone(tree)


def test_a_tree_killed_with_its_tracker_leaves_no_shared_memory(rig: Rig) -> None:
    """kill -9 of everything at once, as the kernel or ``pkill`` does: nobody of the tree is left to clear /dev/shm."""
    before, tree = rig.ready(), rig.tree()
    noted = shared_memory.mapped(tree)
    assert len(noted) >= 2
    until((rig.box.state / "run/tmp/tiny" / shared_memory.NOTE).exists)
    for pid in tree:
        os.kill(pid, signal.SIGKILL)
    until(lambda: rig.look()["phase"] != "ready")
    rig.reaches("starting", incarnation=before["incarnation"] + 1)
    assert {name for name in noted if (shared_memory.MOUNT / name).exists()} == set()
    assert gone(tree)


def evidence(rig: Rig) -> dict:
    """The newest bundle's summary."""
    newest = max((rig.box.state / "workers/tiny/evidence").iterdir(), key=lambda path: path.stat().st_mtime)
    return json.loads((newest / "summary.json").read_text())


def state_of(pid: int, summary: dict) -> str:
    """A process's state as the bundle kept it."""
    return next(one["state"] for one in summary["processes"] if one["pid"] == pid)
