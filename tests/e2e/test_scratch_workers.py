"""Scratch workers in a whole daemon: seen while they live, no worker of the configuration, and never left behind."""

from __future__ import annotations

import os
import signal
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from genesisd.cli.main import run
from tests.helpers.box import FAKE, Box, free_port, until

QUICK = {"stop": {"drain": "1s", "grace": "1s"}}


class Trying:
    """A box whose daemon has a scratch worker of ``w`` from its start on."""

    def __init__(self, make: Callable[..., Box]) -> None:
        self.metrics = free_port()
        worker = {"command": [*FAKE, "--served-model-name", "w"], "listen": f"127.0.0.1:{free_port()}", **QUICK}
        self.box = make({"w": worker}, start=False, metrics={"listen": f"127.0.0.1:{self.metrics}"})
        self.box.module = "tests.helpers.experimenting"
        self.box.start()
        self.name = until(self.named, what="a scratch worker")
        self.box.wait("w", "ready")
        self.box.wait(self.name, "ready")

    def named(self) -> str | None:
        return next((one["name"] for one in self.box.status()["workers"] if one["name"] != "w"), None)

    def scratches(self) -> list[str]:
        return [text for text in self.box.processes().values() if "scratch-" in text]

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.box.ask("events", 0.0, follow=False, worker="w") if one["kind"] == kind]


@pytest.fixture
def trying(box: Callable[..., Box]) -> Trying:
    return Trying(box)


def test_a_daemon_that_is_killed_leaves_its_scratch_worker_to_the_next_one(trying: Trying) -> None:
    """Which ends it, since no configuration knows it; the search may begin another one."""
    assert trying.scratches()
    trying.box.kill()
    assert trying.scratches()
    trying.box.module = "genesisd"
    trying.box.start()
    until(lambda: not trying.scratches(), 60)
    until(lambda: trying.name not in [one["name"] for one in trying.box.status()["workers"]], 60)
    assert {one["worker"] for one in trying.box.ask("incidents", None, 20, open_only=False)} <= {"w"}


@pytest.mark.parametrize("drain", [True, False])
def test_a_daemon_that_ends_takes_its_scratch_worker_along(trying: Trying, drain: bool) -> None:
    """Whether the workers stay or not; and what the experiment saw of it says nothing."""
    trying.box.ask("shutdown", drain=drain)
    assert trying.box.ended() == 0, trying.box.log.read_text()[-3000:]
    assert trying.scratches() == []
    assert "Traceback" not in trying.box.log.read_text()
    trying.box.module = "genesisd"
    trying.box.start()
    assert trying.events("bisection_step") == []
    # A search that would be pointless by now is given up; nothing that it saw counts.
    ended = [(one["fields"]["guilty"], one["fields"]["text"]) for one in trying.events("bisection_ended")]
    assert ended in ([], [([], "given up: the configuration changed")])


def test_a_scratch_worker_is_seen_and_is_no_worker_of_the_configuration(
    trying: Trying, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Status and logs show it; the metrics' labels hold names that stay; its death is no incident."""
    monkeypatch.setenv("GENESISD_SOCKET", str(trying.box.socket))
    assert run(["status"]) == 0
    assert trying.name in capsys.readouterr().out
    assert run(["logs", trying.name]) == 0
    page = urllib.request.urlopen(f"http://127.0.0.1:{trying.metrics}/metrics").read().decode()
    assert 'worker="w"' in page
    assert "scratch-" not in page
    os.kill(trying.box.worker(trying.name)["pid"], signal.SIGKILL)
    until(lambda: trying.box.worker(trying.name)["phase"] == "failed")
    assert trying.box.ask("incidents", None, 20, open_only=False) == []
    trying.box.ask("reload")
    assert trying.box.worker("w")["phase"] == "ready"


@pytest.mark.parametrize("verb", ["stop", "drain", "reset"])
def test_an_order_to_its_worker_ends_the_scratch_worker(trying: Trying, verb: str) -> None:
    """Nothing is tried for a worker that nobody wants, or that is begun with anew."""
    trying.box.ask("order", verb, "w")
    until(lambda: not trying.scratches() and trying.events("bisection_ended"))
    (ended,) = trying.events("bisection_ended")
    assert "an operator took over" in ended["fields"]["text"]
    until(lambda: not list((trying.box.state / "workers").glob("scratch-*")))


def test_a_worker_that_leaves_takes_its_scratch_worker_along(trying: Trying) -> None:
    """By a reload."""
    trying.box.settings["workers"] = {}
    trying.box.write()
    trying.box.ask("reload")
    until(lambda: not trying.box.status()["workers"], 60)
    until(lambda: not trying.scratches(), 60)
