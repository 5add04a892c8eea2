"""genesisctl watch against a real socket: what it prints, and every exit status."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from genesisd.cli.main import run
from genesisd.control import watch_messages as messages
from genesisd.control.messages import ErrorAnswer
from tests.e2e.control_thread import serve
from tests.fakes.control_api import ready_worker
from tests.fakes.watch_api import GOING_ON, SWEEP

CTL = [sys.executable, "-P", "-m", "genesisd.cli.main"]


@pytest.fixture
def served(tmp_path, monkeypatch):
    with serve(tmp_path / "c.sock", ready_worker()) as served:
        monkeypatch.setenv("GENESISD_SOCKET", str(served.path))
        yield served


@pytest.fixture
def ctl(served, capsys):
    """Run a command line: (exit status, stdout, stderr)."""

    def ctl(line: str, *more: str):
        status = run([*line.split(), *more])
        said = capsys.readouterr()
        return status, said.out, said.err

    return ctl


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("watch status", messages.WatchStatusAnswer),
        ("watch", messages.WatchRowsAnswer),
        ("watch list --state merged", messages.WatchRowsAnswer),
        ("watch show 42006", messages.WatchedAnswer),
        ("watch why vllm#42006", messages.WatchWhyAnswer),
        ("watch report", messages.ReportAnswer),
        ("watch report 12 --html", messages.ReportAnswer),
        ("watch decisions", messages.DecisionsAnswer),
        ("watch decisions --all", messages.DecisionsAnswer),
        ("watch diff 42006 --patch PN384", messages.DossiersAnswer),
        ("watch accept 4", messages.DecisionAnswer),
        ("watch decline 4 --why no", messages.DecisionAnswer),
        ("watch snooze 4 --for 2w", messages.DecisionAnswer),
        ("watch forget 42006", messages.ForgottenAnswer),
        ("watch sweep --now", messages.SweepAnswer),
        ("watch sweep --now --no-wait", messages.SweepAnswer),
        ("watch sweep --wait", messages.SweepAnswer),
        ("watch show 7", ErrorAnswer),
        ("watch accept 99", ErrorAnswer),
    ],
)
def test_json_is_the_wire(ctl, line, model) -> None:
    """With --json a command prints the declared message and nothing else."""
    model.model_validate_json(ctl(f"{line} --json")[1])


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("", ["vllm#42006", "vllm#39598", "vllm#45199"]),
        ("--state unknown", ["vllm#45199"]),
        ("--patch pn384", ["vllm#42006"]),
        ("--open", ["vllm#42006", "vllm#39598"]),
        ("--open --state open", ["vllm#39598"]),
    ],
)
def test_rows_may_be_chosen(ctl, said, found) -> None:
    """By state, by patch in any case of letters, by what waits for somebody."""
    status, out, _ = ctl(f"watch list {said}")
    assert (status, [line.split()[0] for line in out.splitlines()[1:]]) == (0, found)


def test_nothing_to_tell_is_said_aloud(ctl, served) -> None:
    """An empty table would look like a fault of genesisctl."""
    assert ctl("watch list --patch P999") == (0, "", "no such row\n")
    served.api.watch.listed, served.api.watch.found, served.api.watch.watchlist = (), {}, None
    assert [ctl(f"watch {word}")[1:] for word in ("list", "decisions", "status", "sweep")] == [
        ("", "nothing is watched\n"),
        ("", "nothing waits for a decision\n"),
        ("", "nothing is watched: set watch.watchlist in the configuration\n"),
        ("", "nothing was swept yet: genesisctl watch sweep --now\n"),
    ]
    assert ctl("watch sweep --now")[0] == 5


def test_stale_rows_show_in_the_exit_status(ctl) -> None:
    """For a script that asks in the morning."""
    status, out, _ = ctl("watch status")
    assert (status, out.splitlines()[0]) == (3, "/etc/genesisd/upstream_watchlist.yaml")


def test_why_is_a_paragraph(ctl) -> None:
    """The text is the answer; where to read on is a message."""
    assert ctl("watch why https://github.com/vllm-project/vllm/pull/42006") == (
        0,
        "vllm#42006 is merged, and cpu-0.32.0 has what it brings.\n",
        "all of it: genesisctl watch show vllm#42006\n",
    )


def test_a_retirement_needs_a_dossier(ctl, served) -> None:
    """Without one it is a conflict whose hint is the command that makes it."""
    status, out, err = ctl("watch accept 3")
    assert (status, out) == (5, "")
    assert "hint: genesisctl watch diff vllm#42006" in err
    assert ctl("watch diff 42006")[1].startswith("PN384 against vllm#42006 on cpu-0.32.0: partial\n")
    served.api.watch.has_dossier = True
    status, out, _ = ctl("watch accept 3 --why", "retired in the next release")
    assert status == 0
    assert "  accepted by uid " in out
    assert served.api.watch.orders == [("accepted", 3, "retired in the next release", None, ())]


def test_declining_and_snoozing(ctl, served) -> None:
    """Reason, predicates and time arrive as they were said."""
    before = time.time()
    assert (
        ctl("watch decline 4 --why", "no such card", "--revisit-when", "gpu.sm >= 89", "--revisit-when", "model: x")[0]
        == 0
    )
    assert ctl("watch snooze 2 --for 1d --why later")[0] == 0
    declined, snoozed = served.api.watch.orders
    assert declined == ("declined", 4, "no such card", None, ("gpu.sm >= 89", "model: x"))
    assert (snoozed[:3], snoozed[4]) == (("snoozed", 2, "later"), ())
    assert before + 86400 <= snoozed[3] <= time.time() + 86400


@pytest.mark.parametrize(
    "line",
    [
        "watch shwo 7",
        "watch show",
        "watch accept three",
        "watch decline 4",
        "watch decline 4 --why=",
        "watch snooze 4",
        "watch snooze 4 --for 1d --until 2030-01-01",
        "watch sweep --now --rows some",
        "watch list --state gone",
        "watch report newest",
    ],
)
def test_exit_2_on_usage(ctl, served, line) -> None:
    """A mistake on the command line prints nothing on stdout, something on stderr, and orders nothing."""
    status, out, err = ctl(line)
    assert (status, out, served.api.watch.orders) == (2, "", [])
    assert err


def test_a_sweep_is_followed_to_its_end(ctl, served) -> None:
    """Its steps are messages, how it ended is the answer."""
    assert ctl("watch sweep --now") == (
        0,
        "sweep 13 (nightly): done after 42s: 3 rows changed, 2 decisions opened\n",
        "sweep 13 (nightly) [1/6]: asking upstream\n",
    )
    assert ctl("watch sweep --now --rows urgent --no-wait")[:2] == (0, "sweep 13 (hourly) [1/6]: asking upstream\n")
    assert ctl("watch sweep --now --rows afresh -q")[2] == ""
    assert served.api.watch.orders == [("sweep", "nightly"), ("sweep", "hourly"), ("sweep", "weekly")]
    assert served.api.watch.asked == [("progress", 13), ("progress", 13)]


def test_sweeps_of_the_past(ctl, served) -> None:
    """Without an order nothing is swept."""
    status, out, _ = ctl("watch sweep")
    assert (status, out.splitlines()[1].split()[:2], served.api.watch.orders) == (0, ["12", "nightly"], [])


@pytest.mark.parametrize(("outcome", "status"), [("done", 0), ("partial", 3), ("failed", 1)])
def test_the_exit_status_of_a_sweep(ctl, served, outcome, status) -> None:
    """All were answered, some were not, it came to nothing."""
    served.api.watch.steps = (replace(SWEEP, id=13, outcome=outcome),)
    assert ctl("watch sweep --now")[0] == status


def test_a_daemon_that_ends_before_its_sweep(ctl, served) -> None:
    """Is not taken for the end of the sweep."""
    served.api.watch.steps = (GOING_ON,)
    status, out, err = ctl("watch sweep --now")
    assert (status, out) == (1, "")
    assert "the daemon ended before the sweep did" in err


def test_an_interrupt_leaves_the_sweep_to_itself(served) -> None:
    """Status 130 and nothing else."""
    served.api.watch.step_delay = 600.0
    child = subprocess.Popen([*CTL, "watch", "sweep", "--now"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stderr is not None
    assert child.stderr.readline() == b"sweep 13 (nightly) [1/6]: asking upstream\n"
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert (child.returncode, out, err.strip()) == (130, b"", b"")
    assert served.api.watch.orders == [("sweep", "nightly")]


def test_a_report_can_be_written(ctl, tmp_path) -> None:
    """As a page for a browser, or as text for a pipe."""
    assert ctl("watch report")[1] == "# Upstream\n\n3 rows changed.\n"
    page = tmp_path / "report.html"
    status, out, err = ctl(f"watch report --html -o {page}")
    assert (status, out, err) == (0, "", f"the report of sweep 12 is in {page}\n")
    assert page.read_text().startswith("<!doctype html>")
    assert ctl(f"watch report -o {tmp_path}/none/r.md")[0] == 1
    assert ctl("watch report 11")[0] == 1


def test_a_dossier_may_be_cut_short(ctl, served) -> None:
    """Exit status 4 after --timeout."""
    served.api.watch.delay = 600.0
    while not served.api.watch.asked:  # a server that waits for a core may never see who was so hasty
        status, out, err = ctl("watch diff 42006 --anew --timeout 0.05")
        assert (status, out) == (4, "")
        assert "did not finish in time" in err
    assert set(served.api.watch.asked) == {("vllm#42006", None, None, True)}


def test_completion(served) -> None:
    """Pull requests that are watched, decisions that are open, and the commands of the group."""

    def completed(line: str) -> list[str]:
        words = line.split(" ")
        env = {"_GENESISCTL_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        done = subprocess.run(
            CTL, env={**env, "GENESISD_SOCKET": str(served.path)}, capture_output=True, text=True, check=True
        )
        return [one.split(",", 1)[1] for one in done.stdout.splitlines()]

    assert completed("genesisctl watch why vllm#4") == ["vllm#42006", "vllm#45199"]
    assert completed("genesisctl watch accept ") == ["3", "4"]
    assert {"sweep", "show", "status", "snooze"} == set(completed("genesisctl watch s"))


LIST = """\
watch:
- upstream: vllm#42006
  status: closed
  local_patches: []
  action: watch
  since: 2026-07-05
- upstream: vllm#45199
  status: open
  local_patches: []
  action: watch
  since: 2026-07-05
- upstream: vllm#99999
  status: open
  local_patches: []
  action: watch
  since: 2026-07-05
sweep: []
__sentinel__: complete
"""


def kinds_of(out: str) -> dict[str, list[str]]:
    """The kinds of what was found, by row."""
    found: dict[str, list[str]] = {}
    for one in json.loads(out)["findings"]:
        found.setdefault(one["row"], []).append(one["kind"])
    return found


def test_a_list_is_checked_by_a_program_of_its_own(served, tmp_path, capfd) -> None:
    """Without the daemon nothing is said of claims; against what it was told they are right, wrong or never verified."""
    file = tmp_path / "list.yaml"
    file.write_text(LIST)
    status = run(["watch", "check", str(file), "--json"])
    said = capfd.readouterr()
    assert status in {0, 11}, said.err
    offline = kinds_of(said.out)
    assert not {"claim-is-wrong", "never-verified"} & {kind for kinds in offline.values() for kind in kinds}
    status = run(["--json", "watch", "check", str(file), "--against-upstream"])
    said = capfd.readouterr()
    assert status == 10, said.err
    found = kinds_of(said.out)
    assert "claim-is-wrong" in found["watch:vllm#42006"]
    assert "never-verified" in found["watch:vllm#45199"]
    assert "never-verified" in found["watch:vllm#99999"]
