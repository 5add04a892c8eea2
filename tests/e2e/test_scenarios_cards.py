"""T9 and T10 with a real daemon, pretended cards, and a process that not even SIGKILL ends."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.box import FAKE, ROOT, alive, until
from tests.helpers.fakevllm import ledger

FREEZER = Path("/sys/fs/cgroup/freezer")
QUICK = {"stop": {"drain": "1s", "grace": "1s"}}
HELD = 900 << 20
TRIES = ("worker_phase", "worker_spawned", "worker_restart", "gate_shut")
"""What the journal has of a worker that is tried again; evidence of its end may still be told meanwhile."""


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The folder that says who holds the two pretended cards, for daemons that start from now on."""
    folder = tmp_path / "vram"
    monkeypatch.setenv("GENESISD_TEST_LEDGER", str(folder))
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests/helpers/nvml"))
    return str(folder)


def spec(cards: str, card: int, *flags: str, **fields) -> dict:
    held = ("--vram-ledger", cards, "--vram-bytes", str(HELD), "--gpus", str(card))
    return {"command": [*FAKE, *held, *flags], **QUICK, "gpus": [card], **fields}


@contextlib.contextmanager
def frozen(pid: int) -> Iterator[None]:
    """For the length of a block no signal reaches the process: the old freezer holds back SIGKILL too."""
    group = FREEZER / f"genesisd-test-{pid}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("needs root and the freezer of cgroup v1")
    try:
        (group / "cgroup.procs").write_text(str(pid))
        (group / "freezer.state").write_text("FROZEN")
        until(lambda: (group / "freezer.state").read_text().strip() == "FROZEN")
        yield
    finally:
        (group / "freezer.state").write_text("THAWED")
        until(lambda: not (group / "cgroup.procs").read_text().strip())
        group.rmdir()


def test_t10_a_process_that_cannot_be_killed_costs_its_card_and_nothing_else(box, cards):
    """T10: after the deadline the worker has failed and the card is out of use; the other card's worker goes on."""
    one = box({"stuck": spec(cards, 0), "other": spec(cards, 1)})
    for name in ("stuck", "other"):
        one.wait(name, "ready")
    worker, other = one.member("stuck", "Worker"), one.worker("other")
    with frozen(worker):
        os.kill(one.worker("stuck")["pid"], 9)
        found = one.wait("stuck", "failed", seconds=60)
        assert found["reason"]["code"] == "unkillable"
        assert alive(worker)
        (card,) = until(lambda: one.ask("quarantine"))
        assert (card["what"], card["name"]) == ("card", "0")
        (incident,) = one.ask("incidents", "stuck", 10, open_only=False)
        assert card["incident"] == incident["id"]
        tries = one.told("stuck", *TRIES)
        os.kill(other["pid"], 9)
        one.life("other", 2)
        assert one.told("stuck", *TRIES) == tries  # nothing is tried over and over
        assert one.worker("stuck")["incarnation"] == 1
    until(lambda: not alive(worker))
    until(lambda: one.ask("quarantine") == [], 60)
    one.ask("order", "reset", "stuck")
    assert one.life("stuck", 2)["phase"] == "ready"


def test_t9_a_stranger_on_the_card_is_named_and_left_alone(box, cards):
    """T9: the worker waits and says for whom, the stranger lives, and the start follows its end."""
    argv = [sys.executable, ledger.__file__, cards, "--card", "0", "--bytes", str(HELD)]
    stranger = subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True)
    try:
        assert stranger.stdout
        assert stranger.stdout.readline() == b"holding\n"
        one = box({"w": spec(cards, 0)})
        found = one.wait("w", "blocked")
        assert str(stranger.pid) in found["reason"]["text"]
        assert (found["incarnation"], found["restarts"]["in_window"]) == (0, 0)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.communicate()
    assert one.wait("w", "ready")["incarnation"] == 1
