"""A worker that answers wrong, against people, reloads and daemons that die: the judge is never stuck, nor forgets."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from genesisd.control.client import ControlError
from genesisd.demo.locate import CASEBOOK
from genesisd.identity import boot_id
from tests.helpers.box import FAKE, Box, until

FLAGS = ["--demo", "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"]
BAD, GOOD = {"answer": "garbage"}, {"answer": "ok"}
QUICK = {"period": "500ms", "recheck": "100ms", "jitter": 0}
PATIENT = "120s"
"""How long a life settles where a test has the worker say right again before the next step, on whatever machine."""


class Judged:
    """One box whose worker ``w`` answers as ``says`` tells it."""

    def __init__(self, make: Callable[..., Box], folder: Path) -> None:
        self.faults = folder / "faults.json"
        self.says(GOOD)
        self.box = make({"w": self.spec()})
        self.box.wait("w", "ready")

    def spec(self, *kinds: str, **judge: Any) -> dict[str, Any]:
        correctness = [{"kind": kind, **QUICK} for kind in kinds or ("degeneration", "tool-calls")]
        numbers = {"settle": "1s", "good_for": "2s", **judge}
        return {
            "command": [*FAKE, *FLAGS, "--control", str(self.faults)],
            "stop": {"drain": "1s", "grace": "1s"},
            "restart": {"backoff": {"initial": "100ms"}},
            "probes": {
                "casebook": str(CASEBOOK), "correctness": correctness, "judge": numbers, "cost": {"floor": 100_000_000},
            },
        }  # fmt: skip

    def says(self, faults: dict[str, Any]) -> None:
        self.faults.write_text(json.dumps(faults))

    def events(self, kind: str) -> list[dict[str, Any]]:
        return [one for one in self.box.ask("events", 0.0, follow=False, worker="w") if one["kind"] == kind]

    def reload(self, spec: dict[str, Any] | None) -> None:
        self.box.settings["workers"] = {} if spec is None else {"w": spec}
        self.box.write()
        self.box.ask("reload")

    def held(self) -> dict[str, Any]:
        found = self.box.wait("w", "failed", seconds=90)
        assert found["reason"]["code"] == "wrong-output", found
        return found


@pytest.fixture
def judged(box: Callable[..., Box], tmp_path: Path) -> Judged:
    return Judged(box, tmp_path)


def test_a_held_worker_stays_down_for_the_next_daemon_and_a_person_begins_anew(judged: Judged) -> None:
    """Restarted once, then held; the daemon's death changes nothing; a start is judged from the first step on."""
    judged.says(BAD)
    lives = judged.held()["incarnation"]
    assert len(judged.events("judge_restart")) == 1
    judged.box.kill()
    judged.box.start()
    assert judged.box.worker("w")["phase"] == "failed"
    assert judged.box.worker("w")["incarnation"] == lives
    judged.reload(judged.spec(settle=PATIENT))
    judged.box.ask("order", "start", "w")
    until(lambda: len(judged.events("judge_restart")) == 2, 60)
    judged.says(GOOD)
    until(lambda: judged.events("judge_cured"), 60)
    assert judged.box.wait("w", "ready")["incarnation"] == lives + 2
    until(lambda: judged.box.ask("incidents", "w", 20, open_only=True) == [])


def test_a_probe_that_is_taken_out_presses_no_more(judged: Judged) -> None:
    """A person who takes a mistaken probe out by a reload keeps the worker from being held for it."""
    judged.reload(judged.spec("degeneration", "tool-calls", settle=PATIENT))
    judged.says(BAD)
    until(lambda: judged.events("judge_restart"), 60)
    judged.box.wait("w", "ready")
    judged.reload(judged.spec("engagement", settle="1s"))
    until(lambda: judged.events("judge_cured") or judged.box.worker("w")["phase"] == "failed", 60)
    assert judged.box.worker("w")["phase"] == "ready"


def test_a_worker_that_is_removed_and_comes_back_is_judged_as_a_new_one(judged: Judged) -> None:
    """Though its lives are counted anew, and also where it left while no daemon ran."""
    judged.says(BAD)
    judged.held()
    judged.says(GOOD)
    spec = judged.spec()
    judged.reload(None)
    until(lambda: not judged.box.ask("workers"))
    judged.reload(spec)
    judged.box.wait("w", "ready")
    count = len(judged.events("judge_restart"))
    judged.says(BAD)
    until(lambda: len(judged.events("judge_restart")) > count, 60)
    judged.held()
    judged.box.kill()
    judged.says(GOOD)
    judged.box.settings["workers"] = {}
    judged.box.write()
    judged.box.start()
    until(lambda: not judged.box.ask("workers"))
    judged.reload(spec)
    judged.box.wait("w", "ready")
    count = len(judged.events("judge_restart"))
    judged.says(BAD)
    until(lambda: len(judged.events("judge_restart")) > count, 60)


def test_a_configuration_that_was_mended_while_no_daemon_ran_is_given_its_chance(judged: Judged) -> None:
    """What was held under the old one is judged anew under the new one, once a person starts it."""
    judged.says(BAD)
    judged.held()
    judged.box.kill()
    judged.says(GOOD)
    spec = judged.spec()
    spec["env"] = {"MENDED": "1"}
    judged.box.settings["workers"] = {"w": spec}
    judged.box.write()
    judged.box.start()
    judged.box.ask("order", "restart", "w")
    judged.box.wait("w", "ready")
    until(lambda: judged.events("probe_changed"))
    assert judged.box.worker("w")["phase"] == "ready"


def test_a_judge_that_is_switched_off_holds_nobody(judged: Judged) -> None:
    """Nor does it when it is switched on again, of what it knew before."""
    judged.reload(judged.spec(settle=PATIENT))
    judged.says(BAD)
    until(lambda: judged.events("judge_restart"), 60)
    judged.box.wait("w", "ready")
    judged.reload(judged.spec(enabled=False))
    judged.says(GOOD)
    judged.reload(judged.spec(settle=PATIENT))
    until(lambda: [one for one in judged.events("order") if one["fields"]["verb"] == "reconfigure"])
    judged.says({"answer": "calls-as-text"})
    until(lambda: len(judged.events("judge_restart")) == 2, 60, "it is judged anew")
    judged.says(GOOD)
    until(lambda: judged.events("judge_cured"), 60)
    until(lambda: judged.box.ask("incidents", "w", 20, open_only=True) == [], 60)
    assert (judged.box.worker("w")["phase"], judged.events("judge_hold")) == ("ready", [])


def test_orders_end_what_the_judge_began(judged: Judged) -> None:
    """Stop, restart, drain and reset at the moment of a step lead to what they say."""
    judged.reload(judged.spec(settle=PATIENT))
    for verb, phase in (("restart", "ready"), ("reset", "ready"), ("stop", "stopped"), ("drain", "stopped")):
        judged.says(BAD)
        count = len(judged.events("judge_restart"))
        until(lambda count=count: len(judged.events("judge_restart")) > count, 60, verb)
        judged.says(GOOD)
        judged.box.ask("order", verb, "w")
        judged.box.wait("w", phase, seconds=60)
        if phase == "stopped":
            assert not judged.box.worker("w")["wanted"]
            judged.box.ask("order", "start", "w")
        judged.box.ask("order", "reset", "w")
        judged.box.wait("w", "ready", seconds=60)
    assert judged.events("judge_hold") == []


def test_what_the_store_holds_of_another_time_keeps_no_daemon_from_starting(judged: Judged) -> None:
    """Rows that are no JSON count as absent; a card whose holder is gone is free again; a stray golden is told of."""
    judged.box.kill()
    lost = [{"what": "card", "name": "0", "worker": "w2", "pin": "", "text": "stuck", "at": 1.0}]
    with closing(sqlite3.connect(judged.box.state / "genesisd.db")) as store, store:
        rows = [(f"{key}w", "{no json") for key in ("judge/", "bisect/", "known-right/", "patches/proven/", "launch/")]
        rows.append(("quarantine", json.dumps(lost)))
        store.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", rows)
    folder = judged.box.state / "goldens" / "tiny"
    folder.mkdir(parents=True)
    (folder / "stray.json").write_text("[" * 100_000)
    (folder / "folder.json").mkdir()
    judged.box.start()
    until(lambda: judged.box.ask("quarantine") == [])
    assert judged.box.wait("w", "ready")["incarnation"] == 1

    def strays() -> int:
        return sum(one["fields"].get("effect") == "golden" for one in judged.box.told(None))

    until(lambda: strays() >= 2)
    assert strays() == 2


def test_a_recording_for_which_there_is_no_room_is_refused_in_words(judged: Judged) -> None:
    """A file lies where the folder should be: nothing is half written, and the worker serves on."""
    (judged.box.state / "goldens").write_text("in the way")
    with pytest.raises(ControlError, match="the recording cannot be kept"):
        judged.box.ask("record_golden", "w", {}, dry_run=False, timeout=60)
    assert judged.box.worker("w")["phase"] == "ready"


@pytest.mark.parametrize("order", ["Tell", "Restart", "Hold"])
def test_a_daemon_that_dies_between_decision_and_order_loses_no_decision(
    judged: Judged, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """The next one goes on from the step that was kept, and takes none twice: an order that was lost was taken all the same."""
    monkeypatch.setenv("GENESISD_TEST_DIES_BEFORE", order)
    judged.box.kill()
    judged.box.module = "tests.helpers.dying_judge"
    judged.box.start()
    judged.says(BAD)
    assert judged.box.ended() == -signal.SIGKILL
    judged.box.module = "genesisd"
    judged.box.start()
    found = judged.held()
    assert (found["incarnation"], len(judged.events("judge_restart"))) == ((2, 1) if order == "Hold" else (1, 0))
    assert len(judged.box.ask("incidents", "w", 20, open_only=False)) == 1
    judged.says(GOOD)
    judged.box.ask("order", "start", "w")
    judged.box.wait("w", "ready")


def test_a_client_that_hangs_up_ends_its_recording(judged: Judged) -> None:
    """Nothing is recorded by halves, nor asked on and on; the next one is as good as the first."""
    judged.says({"generate": "hang"})
    with pytest.raises((ControlError, OSError)):
        judged.box.ask("record_golden", "w", {}, dry_run=False, timeout=0.5)
    judged.says(GOOD)
    assert not list((judged.box.state / "goldens").glob("*/*"))
    asks = [lambda: judged.box.ask("record_golden", "w", {}, dry_run=False, timeout=60)] * 2
    with ThreadPoolExecutor(2) as pool:
        assert all(future.result() for future in [pool.submit(ask) for ask in asks])
    assert len(list((judged.box.state / "goldens").glob("*/*"))) == 1


def test_a_search_that_is_over_ends_no_life_of_the_next_daemon(judged: Judged) -> None:
    """What came of it stays kept; a worker that was right ever since is adopted like any other, each time."""
    judged.box.kill()
    ended = {"at": 1.0, "guilty": ["P1"], "pin_fails": False, "text": "P1 makes the pin fail"}
    case = {"kinds": ["degeneration"], "pin": "p", "patches": ["P1", "P2"], "known": [], "text": "", "ended": ended}
    with closing(sqlite3.connect(judged.box.state / "genesisd.db")) as store, store:
        store.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('bisect/w', ?)", [json.dumps(case)])
    judged.box.start()
    judged.box.wait("w", "ready")
    until(
        lambda: {one["standing"] for one in judged.box.ask("probes", "w") if one["stage"] == "correctness"} == {"good"}
    )
    assert (judged.box.worker("w")["incarnation"], judged.events("worker_exited")) == (1, [])


def test_a_judge_that_is_switched_off_while_no_daemon_runs_is_not_stuck_in_its_search(judged: Judged) -> None:
    """Switched on again it judges anew: what it waited for is over, though it never heard of it."""
    judged.box.kill()
    state = {"incarnation": 0, "step": "quarantine", "bisecting": True}
    kept = {"state": json.dumps(state), "boot": boot_id(), "mono": time.monotonic(), "wall": time.time()}
    with closing(sqlite3.connect(judged.box.state / "genesisd.db")) as store, store:
        store.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('judge/w', ?)", [json.dumps(kept)])
    judged.box.settings["workers"] = {"w": judged.spec(enabled=False)}
    judged.box.write()
    judged.box.start()
    judged.box.wait("w", "ready")
    judged.reload(judged.spec())
    judged.says(BAD)
    until(lambda: judged.events("judge_restart"), 60)
