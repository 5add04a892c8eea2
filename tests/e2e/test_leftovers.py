"""What an earlier daemon left behind and this one's configuration does not ask for is ended, not forgotten."""

from __future__ import annotations

import pytest

from tests.helpers.box import FAKE, alive, free_port, until

SPEC = {"command": [*FAKE, "--bare"], "stop": {"drain": "1s", "grace": "1s"}}


def of(one, worker: str) -> dict[int, str]:
    """Processes of the box that carry the worker's name."""
    return {pid: text for pid, text in one.processes().items() if f" {worker} " in f"{text} "}


def told(one, worker: str) -> list:
    """What the journal has of a worker."""
    return [event for event in one.ask("events", 0.0, follow=False, worker=None) if event["worker"] == worker]


@pytest.mark.parametrize("store_lost", [False, True], ids=["known", "store lost"])
def test_a_worker_that_was_removed_while_no_daemon_ran_is_ended(box, store_lost):
    """Its tree, shim and front go; a card or an address would be held by nobody's worker for ever."""
    one = box({"stays": SPEC, "goes": {**SPEC, "listen": f"127.0.0.1:{free_port()}"}})
    kept, gone = (one.wait(name, "ready")["pid"] for name in ("stays", "goes"))
    assert len(of(one, "goes")) == 2
    one.kill()
    del one.settings["workers"]["goes"]
    one.write()
    if store_lost:
        for path in one.state.glob("genesisd.db*"):
            path.unlink()
    one.start()
    until(lambda: not of(one, "goes") and not alive(gone), what="nothing of the removed worker is left")
    until(lambda: [worker["name"] for worker in one.ask("workers")] == ["stays"])
    assert one.worker("stays")["pid"] == kept
    # Once and for all: the next daemon has nothing to do with it.
    until(lambda: told(one, "goes")[-1]["kind"] == "worker_removed")
    before = len(told(one, "goes"))
    one.kill()
    one.start()
    assert before > 0
    assert len(told(one, "goes")) == before


def test_a_worker_that_was_removed_and_died_meanwhile_is_only_forgotten(box):
    """It is neither started again nor listed."""
    one = box({"stays": SPEC, "goes": SPEC})
    one.wait("goes", "ready")
    one.ask("order", "stop", "goes")
    one.wait("goes", "stopped")
    one.kill()
    del one.settings["workers"]["goes"]
    one.write()
    one.start()
    until(lambda: [worker["name"] for worker in one.ask("workers")] == ["stays"])
    until(lambda: not of(one, "goes"))


def test_a_front_that_is_asked_for_no_more_is_ended(box):
    """A public address that was taken out while no daemon ran is free again, and its worker is restarted without."""
    one = box({"w": {**SPEC, "listen": f"127.0.0.1:{free_port()}"}})
    one.wait("w", "ready")
    one.kill()
    del one.settings["workers"]["w"]["listen"]
    one.write()
    one.start()
    until(lambda: not any("genesisd.front" in text for text in one.processes().values()))
    until(lambda: one.worker("w")["phase"] == "ready")


def test_a_daemon_that_shares_only_the_runtime_folder_touches_nobody(box):
    """Beside a living one it does not start; after it, the other one's workers are none of its business."""
    one = box({"theirs": SPEC}, start=False)
    other = box({"mine": SPEC}, start=False)
    shared = one.folder / "r"
    for each in (one, other):
        each.settings["daemon"]["runtime_dir"] = str(shared)
        each.socket = shared / "control.sock"
        each.write()
    one.start()
    pid = one.wait("theirs", "ready")["pid"]
    other.start(wait=False)
    assert other.ended() == 1
    assert f"pid {one.process.pid}" in other.log.read_text()
    assert "runtime_dir" in other.log.read_text()
    one.kill()
    other.start()
    other.wait("mine", "ready")
    assert alive(pid)
    other.ask("shutdown", drain=True)
    assert other.ended() == 0
    assert alive(pid)
    one.start()
    assert one.worker("theirs")["pid"] == pid
    one.finish()
