"""What a real daemon tells of a worker that answers wrong, through genesisctl: the fake daemon cannot show that."""

from __future__ import annotations

import json

import pytest

from genesisd.cli.main import run
from genesisd.control import correctness_messages as messages
from genesisd.demo.locate import CASEBOOK
from tests.helpers.box import FAKE, free_port, until

FLAGS = ["--demo", "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--reasoning-parser", "qwen3"]
KINDS = ("golden", "tool-calls", "degeneration")


@pytest.fixture
def told(box, tmp_path, monkeypatch, capsys):
    """A daemon with one worker that answers as the demo model does, and a way to ask: (status, stdout)."""
    faults = tmp_path / "faults.json"
    faults.write_text("{}")
    probes = {
        "casebook": str(CASEBOOK),
        "correctness": [{"kind": kind, "period": "1s", "recheck": "200ms", "action": "alert"} for kind in KINDS],
    }
    worker = {
        "command": [*FAKE, *FLAGS, "--control", str(faults)],
        "listen": f"127.0.0.1:{free_port()}",
        "probes": probes,
    }
    made = box({"tiny": worker})
    made.wait("tiny", "ready")
    monkeypatch.setenv("GENESISD_SOCKET", str(made.socket))

    def told(line: str):
        status = run(line.split())
        return status, capsys.readouterr().out

    told.faults = faults
    return told


def test_every_answer_of_a_real_daemon_is_the_wire(told) -> None:
    """From the first golden to the incident of a lost call, each with the fields that are declared."""
    assert told("probes record-golden tiny")[0] == 0
    messages.GoldenAnswer.model_validate_json(told("probes record-golden tiny --dry-run --json")[1])
    assert told("probes run tiny golden")[0] == 0
    told.faults.write_text(json.dumps({"answer": "drop-streamed-call"}))

    def lost_calls():
        found = json.loads(told("incidents --open --json")[1])["incidents"]
        return [one for one in found if "tool-calls" in one["probes"]]

    incident = until(lost_calls, what="an incident tells of the lost call")[0]["id"]
    for line, model in (
        ("probes", messages.ProbesAnswer),
        ("probes history tiny tool-calls", messages.ProbeHistoryAnswer),
        ("incidents", messages.IncidentsAnswer),
        (f"incidents show {incident}", messages.IncidentAnswer),
        ("why tiny", messages.WhyAnswer),
        ("quarantine", messages.QuarantineAnswer),
    ):
        status, out = told(f"{line} --json")
        model.model_validate_json(out)
        assert status == 0, line
    status, out = told("probes run tiny tool-calls --json")
    run_ = messages.ProbeRunAnswer.model_validate_json(out).run
    assert (status, run_.verdict, bool(run_.exchanges)) == (10, "failure", True)
    assert "streamed" in run_.summary
    status, out = told(f"replay {incident} --worker tiny --json")
    replays = messages.ReplayAnswer.model_validate_json(out).replays
    # degeneration sees the lost call too, sooner or later
    assert status == 10
    assert ("tool-calls", True) in {(one.kind, one.same) for one in replays}

    told.faults.write_text("{}")
    assert told(f"replay {incident} --worker tiny")[0] == 0
    assert told("probes run tiny golden")[0] == 0


def test_what_cannot_be_done_is_refused_in_words(told) -> None:
    """With the exit status of its code."""
    assert told("probes run tiny needle")[0] == 5
    assert told("incidents show 4711")[0] == 1
    assert told("incidents --worker tyni")[0] == 1
    assert told("replay 4711 --worker tiny")[0] == 1
    assert told("quarantine release card 7")[0] == 1
    assert told("quarantine release patch P61c --worker tiny")[0] == 1
