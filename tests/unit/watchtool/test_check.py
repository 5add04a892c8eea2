"""What genesisctl watch check says of a watchlist, and with which exit status; nobody is asked."""

from __future__ import annotations

import io
import json
import os
import threading
import time

import pytest

from genesisd.cli import running
from genesisd.watch.findings import FindingKind
from genesisd.watch.model import PatchFact
from genesisd.watchtool.app import root
from genesisd.watchtool.tool import Tool

GOOD = """\
watch:
- upstream: vllm#1
  status: open
  local_patches: [P1]
  action: watch
  since: 2026-07-05
sweep:
- pr: 2
  genesis_patch: P1
  trigger: review-on-merge
  note: words
__sentinel__: complete
"""
MISLEADS = GOOD.replace("genesis_patch: P1", "genesis_patch: P2")
"""P2 has ended."""
DEAD = MISLEADS.replace("status: open", "status: closed").replace("action: watch", "action: retire")


class Patches:
    def facts(self):
        return {"P1": PatchFact(id="P1", implemented=True, active=True), "P2": PatchFact(id="P2", retired=True)}

    def find(self, name):
        return next((one for one in self.facts() if one.casefold() == name.casefold()), None)

    def text_of(self, patch):
        return ""


@pytest.fixture
def check(tmp_path, capsys, monkeypatch):
    """Check a text: (exit status, stdout, stderr) with the file's folder left out."""
    monkeypatch.setenv("GENESISD_SOCKET", str(tmp_path / "none.sock"))

    def check(text, *more):
        file = tmp_path / "list.yaml"
        if text is not None:
            file.write_text(text)
        status = running.run(root, ["check", str(file), *more], Tool(patches=Patches), "genesisctl watch")
        said = capsys.readouterr()
        return status, said.out.replace(f"{tmp_path}/", ""), said.err.replace(f"{tmp_path}/", "")

    return check


def test_a_sound_list_is_said_to_be_sound(check):
    """With its size, on stderr."""
    assert check(GOOD) == (0, "", "list.yaml: 1 watch and 1 sweep rows: nothing was found\n")


def test_a_finding_has_its_place_its_weight_its_kind_and_a_way_to_mend_it(check):
    """As compilers write it, so that editors find the line."""
    status, out, err = check(DEAD)
    first, hint, *rest = out.splitlines()
    assert status == 10
    assert first == (
        "list.yaml:2: error: the file says that vllm#1 was closed without a merge, so action retire waits for ever "
        "[trigger-can-never-fire]"
    )
    assert hint == "  watch what took its place, and let this row no longer wait"
    assert rest[0].startswith("list.yaml:8: ")
    assert rest[0].endswith(f"[{FindingKind.RETIRED_ID}]")
    assert err.startswith("list.yaml: 1 watch and 1 sweep rows: 1 error, ")


def test_the_exit_status_is_that_of_the_worst(check):
    """Whatever is shown."""
    assert check(MISLEADS)[0] == 11
    status, out, err = check(MISLEADS, "--least", "error")
    assert (status, out) == (11, "")
    assert "1 warning" in err
    assert check(DEAD, "--least", "error")[1].count("\n") == 2


def test_json_has_all_of_it(check):
    """Counts of everything, findings as far as they are shown."""
    status, out, _ = check(DEAD, "--json", "--least", "error")
    told = json.loads(out)
    assert (status, told["schema"], told["ok"], told["watch"], told["sweep"]) == (10, 1, False, 1, 1)
    assert told["counts"]["error"] == 1
    assert told["counts"]["warning"] >= 1
    assert [(one["kind"], one["line"], one["row"]) for one in told["findings"]] == [
        ("trigger-can-never-fire", 2, "watch:vllm#1")
    ]
    assert json.loads(check(GOOD, "--json")[1])["ok"]


def test_a_file_that_is_no_watchlist_has_the_place_of_each_fault(check):
    """Line and column, for people and for programs."""
    broken = GOOD.replace("status: open", "status: opened").replace("trigger: review", "trigger: revue")
    status, out, _ = check(broken)
    assert status == 10
    assert [line.split(": ")[0] for line in out.splitlines()] == ["list.yaml:3:11", "list.yaml:10:12"]
    told = json.loads(check(broken, "--json")[1])
    assert [(one["line"], one["column"]) for one in told["faults"]] == [(3, 11), (10, 12)]
    assert (told["ok"], told["findings"]) == (False, [])


def test_a_file_that_is_not_there_is_no_finding(check):
    """But a failure."""
    status, out, err = check(None)
    assert (status, out) == (1, "")
    assert "cannot be read: No such file" in err


def test_markers_may_be_named(check, tmp_path):
    """A row that relies on them is held against that file; one with a slip in it is refused."""
    relies = GOOD.replace("  note: words", "  note: words\n  detection: UPSTREAM_MARKERS")
    slip = tmp_path / "markers.yaml"
    slip.write_text("markers: 7\n")
    status, out, err = check(relies, "--markers", str(slip))
    assert (status, out) == (1, "")
    assert "markers.yaml" in err
    slip.write_text("markers: []\ngates: []\n")
    assert f"[{FindingKind.DETECTION_WEAK}]" in check(relies, "--markers", str(slip))[1]


def test_against_upstream_needs_the_daemon(check):
    """It is the only thing that does."""
    status, out, err = check(GOOD, "--against-upstream")
    assert (status, out) == (3, "")
    assert "no daemon is running" in err


@pytest.mark.parametrize("argv", [["check"], ["check", "a", "b"], ["check", "a", "--least", "all"], ["chekc", "a"]])
def test_usage(argv, capsys):
    """As everywhere."""
    assert running.run(root, argv, Tool(), "genesisctl watch") == 2
    assert capsys.readouterr().out == ""


def test_a_pipe_is_waited_for(check, tmp_path):
    """However long the one at the other end takes; what it says is the list."""
    path = tmp_path / "list.yaml"
    os.mkfifo(path)

    def late():
        with path.open("w") as pipe:
            pipe.write(GOOD[:40])
            pipe.flush()
            time.sleep(0.05)
            pipe.write(GOOD[40:])

    other = threading.Thread(target=late)
    other.start()
    assert check(None) == (0, "", "list.yaml: 1 watch and 1 sweep rows: nothing was found\n")
    other.join()


@pytest.mark.parametrize(
    ("text", "status", "told"), [(GOOD, 0, "nothing was found"), (GOOD[:-10], 10, "as the last line of the file")]
)
def test_a_dash_is_standard_input(text, status, told, capsys, monkeypatch):
    """Such as an older list that git shows."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert running.run(root, ["check", "-"], Tool(patches=Patches), "genesisctl watch") == status
    said = capsys.readouterr()
    assert "standard input:" in said.out + said.err
    assert told in said.out + said.err
