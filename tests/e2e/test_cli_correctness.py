"""genesisctl probes, incidents, why, replay and quarantine against a real socket."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from genesisd.cli.main import run
from genesisd.control import correctness_messages as messages
from genesisd.control.messages import ErrorAnswer
from tests.e2e.control_thread import serve
from tests.fakes.control_api import ready_worker
from tests.fakes.correctness_api import RUN, WRONG

CTL = [sys.executable, "-P", "-m", "genesisd.cli.main"]


@pytest.fixture
def served(tmp_path, monkeypatch):
    with serve(tmp_path / "c.sock", ready_worker(), ready_worker("spare")) as served:
        monkeypatch.setenv("GENESISD_SOCKET", str(served.path))
        yield served


@pytest.fixture
def ctl(served, capsys):
    """Run a command line: (exit status, stdout, stderr)."""

    def ctl(line: str):
        status = run(line.split())
        said = capsys.readouterr()
        return status, said.out, said.err

    return ctl


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("probes", messages.ProbesAnswer),
        ("probes list tiny", messages.ProbesAnswer),
        ("probes run tiny golden", messages.ProbeRunAnswer),
        ("probes history tiny", messages.ProbeHistoryAnswer),
        ("probes history tiny golden --limit 1", messages.ProbeHistoryAnswer),
        ("probes record-golden tiny --explain capital=P61c", messages.GoldenAnswer),
        ("incidents", messages.IncidentsAnswer),
        ("incidents list --open", messages.IncidentsAnswer),
        ("incidents show 7", messages.IncidentAnswer),
        ("why tiny", messages.WhyAnswer),
        ("replay 7 --worker tiny", messages.ReplayAnswer),
        ("quarantine", messages.QuarantineAnswer),
        ("quarantine release card 1", messages.QuarantineAnswer),
        ("why nobody", ErrorAnswer),
        ("incidents show 8", ErrorAnswer),
    ],
)
def test_json_is_the_wire(ctl, line, model) -> None:
    """With --json a command prints the declared message and nothing else."""
    model.model_validate_json(ctl(f"{line} --json")[1])


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("probes", "probes list"),
        ("probes tiny", "probes list tiny"),
        ("probes --json tiny", "probes list tiny --json"),
        ("incidents --worker tiny --open", "incidents list --worker tiny --open"),
        ("quarantine", "quarantine list"),
    ],
)
def test_list_may_be_left_out(ctl, short, long) -> None:
    """It is what people ask most."""
    status, out, _ = ctl(short)
    assert (status, out) == ctl(long)[:2]
    assert (status, bool(out)) == (0, True)


def test_a_socket_that_is_called_like_a_command(served, capsys) -> None:
    """The value of an option is no command."""
    assert run(["--socket", str(served.path), "probes", "tiny"]) == 0
    whole = capsys.readouterr().out
    assert run(["probes", "--socket", str(served.path), "tiny"]) == 0
    assert capsys.readouterr().out == whole


@pytest.mark.parametrize(("verdict", "status"), [("success", 0), ("skipped", 0), ("failure", 10), ("unknown", 3)])
def test_the_exit_status_of_a_run(ctl, served, verdict, status) -> None:
    """For scripts: right, wrong, could not ask."""
    served.api.run = replace(RUN, verdict=verdict)
    found, out, _ = ctl("probes run tiny golden")
    assert (found, out.splitlines()[0]) == (status, f"golden of tiny: {verdict}: {WRONG}")


@pytest.mark.parametrize(("same", "status"), [(True, 10), (False, 0)])
def test_the_exit_status_of_a_replay(ctl, served, same, status) -> None:
    """Whether it still goes wrong."""
    served.api.same = same
    assert ctl("replay 7 --worker spare")[0] == status
    assert served.api.orders == [("replay", "7", "spare")]


def test_a_long_ask_may_be_cut_short(ctl, served) -> None:
    """Exit status 4 after --timeout."""
    served.api.delay = 600
    for line in ("probes run tiny golden", "replay 7 --worker tiny", "probes record-golden tiny"):
        status, out, err = ctl(f"{line} --timeout 0.05")
        assert (status, out) == (4, "")
        assert "did not finish in time" in err


def test_a_golden_needs_explanations(ctl, served) -> None:
    """Without one it is a conflict whose hint is the option to say; a dry run records nothing."""
    status, _, err = ctl("probes record-golden tiny")
    assert (status, "--explain capital=PATCH" in err) == (5, True)
    assert ctl("probes record-golden tiny --explain capital=P61c --dry-run")[1].startswith("would record 4 cases")
    assert ctl("probes record-golden tiny --explain capital=P61c")[1].startswith("recorded 4 cases")
    assert served.api.orders == [("golden-dry", "tiny"), ("golden", "tiny")]


def test_why_is_a_paragraph(ctl) -> None:
    """The text is the answer; where to read on is a message."""
    status, out, err = ctl("why tiny")
    assert (status, out) == (0, f"tiny answers wrong since 10 minutes: {WRONG}.\n")
    assert err == "all of it: genesisctl incidents show 7\n"


def test_release(ctl, served) -> None:
    """What is left is shown; what is not quarantined is an error."""
    status, out, err = ctl("quarantine release patch P61c --worker tiny")
    assert (status, err) == (0, "patch P61c is released\n")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [["card", "1"]]
    assert ctl("quarantine release patch P61c --worker tiny")[0] == 1
    assert ctl("quarantine release card 1")[1:] == ("", "card 1 is released\nnothing is quarantined\n")
    assert served.api.orders == [("release", "patch", "P61c"), ("release", "card", "1")]


def test_nothing_to_tell_is_said_aloud(ctl, served) -> None:
    """An empty table would look like a fault of genesisctl."""
    served.api.standings, served.api.found, served.api.held = (), {}, ()
    assert [ctl(line)[1:] for line in ("probes", "incidents", "quarantine")] == [
        ("", "no probes: no worker lives\n"),
        ("", "no incidents\n"),
        ("", "nothing is quarantined\n"),
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("genesisctl probes ", {"list", "run", "history", "record-golden", "tiny", "spare"}),
        ("genesisctl probes run tiny ", {"golden", "acceptance", "needle"}),
        ("genesisctl probes run tiny g", {"golden"}),
        ("genesisctl incidents show ", {"7", "6"}),
        ("genesisctl quarantine release patch ", {"P61c"}),
        ("genesisctl why s", {"spare"}),
    ],
)
def test_completion(served, words, told) -> None:
    """The shell's question is answered with what the daemon knows."""
    parts = words.split(" ")
    env = os.environ | {"_GENESISCTL_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(len(parts) - 1)}
    done = subprocess.run(CTL, env=env, capture_output=True, text=True, check=True)
    assert {line.partition(",")[2] for line in done.stdout.splitlines()} == told
