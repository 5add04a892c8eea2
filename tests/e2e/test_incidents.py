"""Incidents of a real daemon: opened by a death or a hang, with evidence, told by why, kept across daemons."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests.helpers.box import FAKE, until

CANARY = "c4n4ry-of-a-spec"


def spec(*flags: str, **fields) -> dict:
    return {"command": [*FAKE, *flags], "stop": {"drain": "1s", "grace": "1s"}, **fields}


def incidents(one, worker: str = "w", *, open_only: bool = False) -> list[dict]:
    return one.ask("incidents", worker, 10, open_only=open_only)


def with_evidence(one) -> dict:
    """The newest incident, once its bundle lies on the disk."""
    return until(lambda: (found := incidents(one)) and found[0]["evidence"] and one.ask("incident", found[0]["id"]))


def test_a_killed_engine_opens_one_incident_with_evidence(box):
    """Its cause, its bundle without the secrets of the spec, and one paragraph that names them; a stop closes it."""
    env = {"MY_API_KEY": CANARY, "PLAIN": "plainly-seen"}
    one = box({"w": spec("--workers", "1", env=env)})
    one.wait("w", "ready")
    assert incidents(one) == []
    assert "No incident is open" in one.ask("why", "w")["text"]
    os.kill(one.member("w", "EngineCore"), signal.SIGKILL)
    found = with_evidence(one)
    assert found["cause"] in {"engine-dead", "crash"}
    assert found["happenings"][0]["what"] == "exit"
    files = {path.name: path.read_text() for path in Path(found["evidence"]).iterdir()}
    assert set(files) == {"summary.json", "log.txt", "stacks.txt", "probes.json", "spec.json", "metrics.txt"}
    assert not [name for name, text in files.items() if CANARY in text]
    assert json.loads(files["spec.json"])["env"] == {"MY_API_KEY": "[masked]", "PLAIN": "plainly-seen"}
    one.life("w", 2)
    told = one.ask("why", "w")
    assert (told["incident"], f"Incident {found['id']} (" in told["text"]) == (found["id"], True)
    one.ask("order", "stop", "w")
    one.wait("w", "stopped")
    until(lambda: incidents(one)[0]["closed"])
    assert incidents(one, open_only=True) == []


def test_a_new_daemon_goes_on_with_the_incident_that_it_finds(box):
    """A death before and one after it are one incident."""
    one = box({"w": spec("--workers", "1")})
    one.wait("w", "ready")
    os.kill(one.worker("w")["pid"], signal.SIGKILL)
    one.life("w", 2)
    before = with_evidence(one)
    one.kill()
    one.start()
    one.wait("w", "ready")
    os.kill(one.worker("w")["pid"], signal.SIGKILL)
    one.life("w", 3)

    def exits() -> list[dict]:
        return [line for line in one.ask("incident", before["id"])["happenings"] if line["what"] == "exit"]

    until(lambda: len(exits()) >= 2)
    assert len(exits()) == 2
    (after,) = incidents(one)
    assert (after["id"], after["closed"]) == (before["id"], None)


MEMORY = Path("/sys/fs/cgroup/memory")


@pytest.mark.skipif(
    os.geteuid() != 0 or not (MEMORY / "memory.limit_in_bytes").exists(), reason="needs a memory cgroup"
)
def test_a_worker_that_the_kernel_kills_for_memory_is_told_so(box):
    """By the kernel's own words, although its log says nothing."""
    group = MEMORY / f"genesisd-e2e-{os.getpid()}"
    group.mkdir()
    try:
        (group / "memory.limit_in_bytes").write_text(str(60 << 20))
        code = f"open('{group}/cgroup.procs', 'w').write('0'); bytearray(300 << 20)"
        one = box({"w": {"command": [sys.executable, "-c", code], "restart": {"budget": 0}}})
        one.wait("w", "failed")
        found = with_evidence(one)
        assert found["cause"] == "host-oom"
        assert found["text"].startswith("the kernel killed python")
        assert "the machine ran out of memory" in one.ask("why", "w")["text"]
    finally:
        until(lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()
