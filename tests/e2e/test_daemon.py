"""The daemon with fake workers: what is killed comes back, and what is asked is done."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest

from genesisd.control.client import ControlError
from tests.helpers.box import FAKE, alive, descendants, free_port, held_back, until

QUICK = {"stop": {"drain": "2s", "grace": "2s"}}


def spec(*flags: str, **fields) -> dict:
    return {"command": [*FAKE, *flags], **QUICK, **fields}


def get(url: str, timeout: float = 10) -> bytes:
    with urllib.request.urlopen(url, timeout=timeout) as answer:
        return answer.read()


def complete(port: int, tokens: int = 4, timeout: float = 60) -> dict:
    body = json.dumps({"model": "tiny", "prompt": "hi", "max_tokens": tokens}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=timeout) as answer:
        return json.load(answer)


@pytest.mark.parametrize(
    "shape", [(), ("--setsid-workers",), ("--double-fork-worker",)], ids=["plain", "setsid", "fork"]
)
def test_t8_a_killed_leader_is_back_and_nothing_of_its_tree_is_left(box, shape):
    """T8: kill -9 of the API server, in every process shape."""
    one = box({"w": spec("--workers", "2", *shape)})
    before = one.wait("w", "ready")
    tree = descendants(before["pid"])
    assert len(tree) >= 3
    os.kill(before["pid"], signal.SIGKILL)
    after = one.life("w", 2)
    assert (after["pid"] != before["pid"], after["restarts"]["in_window"]) == (True, 1)
    assert after["last_exit"]["signal"] == 9
    assert [pid for pid in tree if alive(pid)] == []


def test_an_exit_0_that_nobody_asked_for_is_a_crash(box):
    """T11: vLLM exits 0 when its engine dies."""
    one = box({"w": spec("--die-on-engine-death")})
    one.wait("w", "ready")
    engine = one.member("w", "EngineCore")
    os.kill(engine, signal.SIGKILL)
    assert one.life("w", 2)["last_exit"]["code"] == 0
    kinds = {event["kind"] for event in one.told("w")}
    assert {"worker_exited", "worker_restart", "worker_ready"} <= kinds


def test_a_hung_engine_is_found_while_health_says_200(box):
    """T1: SIGSTOP of the engine; evidence is kept before the restart."""
    one = box({"w": spec()})
    one.wait("w", "ready")
    engine = one.member("w", "EngineCore")
    os.kill(engine, signal.SIGSTOP)
    one.life("w", 2)
    (bundle,) = (one.state / "workers/w/evidence").iterdir()
    summary = json.loads((bundle / "summary.json").read_text())
    assert summary["reason"] == "hung"
    assert {"pid": engine, "state": "T"}.items() <= next(p for p in summary["processes"] if p["pid"] == engine).items()


def test_an_operators_stop_is_final(box):
    """T18: no restart, no daemon restart and no reload undoes it; only a start does."""
    one = box({"w": spec()})
    pid = one.wait("w", "ready")["pid"]
    one.ask("order", "stop", "w")
    one.wait("w", "stopped")
    assert not alive(pid)
    one.kill()
    one.start()
    one.ask("reload")
    time.sleep(0.5)
    assert one.worker("w")["phase"] == "stopped"
    one.ask("order", "start", "w")
    one.wait("w", "ready")


def test_a_command_that_cannot_run_is_no_loop(box):
    """T19: it fails once, with the reason, and control stays quick."""
    one = box({"bad": {"command": ["/nonexistent/vllm"], **QUICK}, "w": spec()})
    found = one.wait("bad", "failed")
    assert "/nonexistent/vllm" in found["reason"]["text"]
    assert one.wait("w", "ready")["phase"] == "ready"


def test_a_crash_loop_spends_its_budget_and_ends(box):
    """I5: budget 2 means three lives."""
    restart = {"budget": 2, "window": "1h", "backoff": {"initial": "100ms", "max": "100ms"}}
    one = box({"w": spec("--die-after", "0.1", "--exit-code", "3", restart=restart)})
    found = one.wait("w", "failed")
    assert (found["reason"]["code"], found["incarnation"]) == ("budget-spent", 3)
    one.ask("order", "reset", "w")
    until(lambda: one.phases("w").count("failed") == 2)
    assert one.worker("w")["incarnation"] == 6


def test_a_taken_port_blocks_and_kills_nobody(box):
    """T9's manners, for a port: it waits, says why, and starts when the port is free."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        one = box({"w": spec(engine_port=port)})
        found = one.wait("w", "blocked")
        assert (found["reason"]["code"], str(port) in found["reason"]["text"]) == ("port-taken", True)
    one.wait("w", "ready")


def test_a_port_that_is_taken_after_the_check_blocks_the_next_try(box, tmp_path):
    """The engine itself meets the stranger; no loop follows, and it starts when the port is free."""
    port, gate = free_port(), tmp_path / "gate"
    gate.touch()
    one = box({"w": spec(engine_port=port, command=held_back(gate))})
    until(lambda: one.worker("w")["pid"])
    with socket.create_server(("127.0.0.1", port)):
        gate.unlink()
        found = one.wait("w", "blocked", "failed")
        assert (found["phase"], found["reason"]["code"]) == ("blocked", "port-taken")
        assert (found["incarnation"], found["last_exit"]["cause"]) == (1, "port-taken")
    assert one.wait("w", "ready")["incarnation"] == 2


def test_a_taken_public_address_blocks(box):
    """A worker that nobody could reach is not started."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        one = box({"w": spec(listen=f"127.0.0.1:{port}")})
        assert one.wait("w", "blocked")["reason"]["code"] == "listen-taken"
    one.wait("w", "ready")
    assert complete(port)["usage"]["completion_tokens"] == 4


def test_the_public_address_outlives_incarnations(box, tmp_path):
    """A request that comes while the worker is down is held and answered by the next life."""
    port, gate = free_port(), tmp_path / "gate"
    one = box({"w": spec(command=held_back(gate), listen=f"127.0.0.1:{port}")})
    before = one.wait("w", "ready")
    gate.touch()
    os.kill(before["pid"], signal.SIGKILL)
    until(lambda: one.worker("w")["incarnation"] == 2)
    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(complete, port, timeout=120)
        until(lambda: one.worker("w")["front"]["held"])
        gate.unlink()
        assert asked.result()["choices"][0]["finish_reason"] == "length"
    assert one.worker("w")["incarnation"] == 2


def test_a_killed_front_is_replaced_and_points_where_it_did(box):
    """The worker is not touched."""
    port = free_port()
    one = box({"w": spec(listen=f"127.0.0.1:{port}")})
    one.wait("w", "ready")
    front = next(pid for pid, text in one.processes().items() if "genesisd.front" in text)
    os.kill(front, signal.SIGKILL)

    def answered() -> bool:
        try:
            return complete(port)["usage"]["completion_tokens"] == 4
        except OSError:
            return False

    until(answered)
    assert one.worker("w")["incarnation"] == 1


def test_a_killed_shim_degrades_and_is_replaced(box):
    """Its worker serves on until it is drained."""
    one = box({"w": spec()})
    before = one.wait("w", "ready")
    os.kill(before["shim_pid"] if "shim_pid" in before else before["shim"]["pid"], signal.SIGKILL)
    one.life("w", 2)
    until(lambda: not alive(before["pid"]))
    assert one.told("w", "shim_lost")
    assert "degraded" in one.phases("w")


def test_t13_workers_survive_the_daemon(box):
    """T13: kill -9 of the daemon; the next one adopts the same processes, ready at once."""
    one = box({"w": spec()})
    before = one.wait("w", "ready")
    one.kill()
    assert alive(before["pid"])
    one.start()
    after = one.worker("w")
    assert (after["pid"], after["incarnation"], after["phase"], after["adopted"]) == (before["pid"], 1, "ready", True)


def test_t13_a_stream_runs_through_the_death_of_the_daemon(box):
    """Through the front, to its last token."""
    port = free_port()
    one = box({"w": spec("--token-delay", "0.05", listen=f"127.0.0.1:{port}")})
    one.wait("w", "ready")
    body = json.dumps({"model": "tiny", "prompt": "hi", "max_tokens": 60, "stream": True, "ignore_eos": True}).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/v1/completions", body, {"Content-Type": "application/json"}
    )
    lines: list[bytes] = []

    def read() -> None:
        with urllib.request.urlopen(request, timeout=60) as answer:
            lines.extend(answer)

    reader = threading.Thread(target=read)
    reader.start()
    until(lambda: len(lines) > 3)
    one.kill()
    one.start()
    reader.join(60)
    assert lines[-2].strip() == b"data: [DONE]" or lines[-1].strip() == b"data: [DONE]"
    assert sum(line.startswith(b"data: {") for line in lines) >= 60


def test_a_daemon_that_is_told_to_end_leaves_its_workers(box):
    """SIGTERM without --foreground: an upgrade."""
    one = box({"w": spec()})
    before = one.wait("w", "ready")
    one.signal(signal.SIGTERM)
    assert one.ended() == 0
    assert alive(before["pid"])
    one.start()
    assert one.worker("w")["pid"] == before["pid"]


def test_a_change_made_while_no_daemon_ran_is_noticed(box):
    """The adopted worker is restarted with its new settings; others are left alone."""
    one = box({"w": spec(), "same": spec()})
    before = {name: one.wait(name, "ready") for name in ("w", "same")}
    one.kill()
    one.settings["workers"]["w"]["env"] = {"NEW": "1"}
    one.settings["workers"]["same"]["restart"] = {"budget": 7}
    one.write()
    one.start()
    found = one.life("w", 2)
    assert (found["pid"] != before["w"]["pid"], found["restarts"]["in_window"]) == (True, 0)
    assert one.worker("same")["pid"] == before["same"]["pid"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_the_foreground_the_end_is_the_end_of_all(box, number):
    """Ctrl-C leaves no process; the next start brings what was wanted."""
    one = box({"w": spec()}, start=False).start("--foreground")
    one.wait("w", "ready")
    one.signal(number)
    assert one.ended() == 0
    assert one.processes() == {}
    one.start()
    assert one.wait("w", "ready")["incarnation"] == 2


def test_a_reload_touches_only_what_changed(box):
    """Live settings keep the process, launch settings restart it, others are left alone."""
    one = box({"a": spec(), "b": spec(), "c": spec()})
    before = {name: one.wait(name, "ready") for name in "abc"}
    workers = one.settings["workers"]
    workers["a"]["restart"] = {"budget": 9}
    workers["b"]["env"] = {"NEW": "1"}
    del workers["c"]
    workers["d"] = spec()
    one.write()
    said = one.ask("reload")
    assert (said["added"], said["removed"], said["changed"], said["restarted"]) == (["d"], ["c"], ["a", "b"], ["b"])
    one.wait("d", "ready")
    one.life("b", 2)
    assert (one.worker("a")["pid"], one.worker("a")["restarts"]["budget"]) == (before["a"]["pid"], 9)
    until(lambda: one.told(None, "worker_removed"))
    assert [w["name"] for w in one.ask("workers")] == ["a", "b", "d"]
    assert not alive(before["c"]["pid"])


def test_new_probes_are_asked_at_once(box):
    """A reload that changes probes needs no restart to count."""
    one = box({"w": spec()})
    before = one.wait("w", "ready")
    one.settings["workers"]["w"]["probes"] = {
        "readiness": [{"kind": "http", "path": "/no-such-page", "failures": 1, "period": "100ms"}]
    }
    one.write()
    one.ask("reload")
    found = one.wait("w", "degraded")
    assert (found["pid"], "404" in found["reason"]["text"]) == (before["pid"], True)
    del one.settings["workers"]["w"]["probes"]
    one.write()
    one.ask("reload")
    assert one.wait("w", "ready")["pid"] == before["pid"]


def test_a_bad_reload_changes_nothing(box):
    """The old configuration stays in force, and the refusal names the line."""
    one = box({"w": spec()})
    before = one.wait("w", "ready")
    good = one.file.read_text()
    one.file.write_text(good.replace("command:", "comand:"))
    with pytest.raises(ControlError, match="comand"):
        one.ask("reload")
    assert one.worker("w")["pid"] == before["pid"]
    assert one.status()["daemon"]["config_ok"] is False
    one.file.write_text(good)
    one.ask("reload")
    assert one.status()["daemon"]["config_ok"] is True


def test_start_order_and_reverse_stop(box):
    """A worker waits for what it requires, and goes down with it and before it."""
    one = box({"llm": spec(requires=["db"]), "db": spec("--boot-seconds", "0.5")})
    one.wait("llm", "ready")
    begun = [(event["worker"], event["kind"]) for event in one.told(None, "worker_spawned", "worker_ready")]
    assert begun == [(name, kind) for name in ("db", "llm") for kind in ("worker_spawned", "worker_ready")]
    one.ask("order", "stop", "db")
    one.wait("llm", "blocked")
    until(lambda: one.worker("llm")["reason"]["text"] == "waits for db, which is stopped")
    one.ask("order", "start", "db")
    one.wait("llm", "ready")
    one.ask("shutdown", drain=True)
    one.ended()
    one.start()
    ended = [event for event in one.told(None, "worker_phase") if event["fields"]["phase"] == "stopped"]
    assert [event["worker"] for event in ended[-2:]] == ["llm", "db"]


def test_metrics_journal_and_status_agree(box):
    """I9, after a few deaths."""
    port = free_port()
    one = box({"w": spec()}, metrics={"listen": f"127.0.0.1:{port}"})
    for incarnation in (1, 2):
        os.kill(one.life("w", incarnation)["pid"], signal.SIGKILL)
    found = one.life("w", 3)
    text = get(f"http://127.0.0.1:{port}/metrics").decode()
    lines = dict(line.rsplit(" ", 1) for line in text.splitlines() if not line.startswith("#"))
    assert float(lines['genesisd_worker_incarnation{worker="w"}']) == found["incarnation"]
    assert float(lines['genesisd_worker_phase{worker="w",phase="ready"}']) == 1
    restarts = sum(float(v) for k, v in lines.items() if k.startswith("genesisd_worker_restarts_total{"))
    assert (restarts, len(one.told("w", "worker_restart")), found["restarts"]["in_window"]) == (2, 2, 2)


def test_two_daemons_on_one_state_folder_do_not_both_run(box):
    """The second says who holds it."""
    one = box({"w": spec()})
    argv = [sys.executable, "-m", "genesisd", "--config", str(one.file)]
    second = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == 1
    assert str(one.process.pid) in second.stderr
