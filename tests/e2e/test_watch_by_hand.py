"""What people do with the upstream watch: genesisctl, a real daemon, and an upstream that answers, changes and falls silent."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from genesisd.cli.main import run
from genesisd.watch import markers
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.wiring.patch_facts import patch_facts
from tests.helpers.box import ROOT, Box, free_port, until
from tests.helpers.fakegithub import World, synthetic
from tests.helpers.fakegithub.facts import Fact
from tests.helpers.fakegithub.faults import Slow
from tests.helpers.github_thread import github_thread
from tests.helpers.loopback_index import make_wheel, serve_index

CTL = [sys.executable, "-P", "-m", "genesisd.cli.main"]
LIST = """\
# Kept by people.
watch:
- upstream: vllm#40001
  status: open      # looked at in June
  local_patches: [P62]
  action: drift-check
  since: 2026-06-01
- upstream: vllm#40002
  status: open      # "soon", they said
  local_patches: []
  action: watch
  since: 2025-06-01
- upstream: vllm#40003
  status: closed
  local_patches: []
  action: port
  since: 2026-06-01
  severity: P1-crash
sweep:
- pr: 40007
  genesis_patch: watch-only
  trigger: review-on-merge
  note: words
__sentinel__: complete
"""
OPEN = Ref(UPSTREAM, 40001)
ENDED = (0, 3)
"""No pin has files here: content is unknown, and a sweep that was answered may call itself partial."""


class Desk:
    """Everything that is needed to sit down and look."""

    def __init__(self, box: Box, double, capsys) -> None:
        self.box = box
        self.double = double
        self.file = box.folder / "list.yaml"
        self._capsys = capsys

    def ctl(self, *argv: str) -> tuple[int, str, str]:
        """Exit status, stdout, stderr."""
        self._capsys.readouterr()
        status = run(["--socket", str(self.box.socket), *argv])
        said = self._capsys.readouterr()
        return status, said.out, said.err

    def told(self, *argv: str):
        """The JSON answer."""
        return json.loads(self.ctl(*argv, "--json")[1])

    def page(self) -> dict[tuple[str, ...], float]:
        """The watch's own series, by name and label values."""
        address = self.box.settings["daemon"]["metrics"]["listen"]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=20) as answer:
            families = list(text_string_to_metric_families(answer.read().decode()))
        samples = [one for family in families for one in family.samples]
        head = "genesisd_watch_"
        return {(s.name.removeprefix(head), *s.labels.values()): s.value for s in samples if s.name.startswith(head)}


def everything() -> World:
    """What the list watches, and all that the project's own patches and markers speak of."""
    world = synthetic(10)
    carried = (ref for fact in patch_facts().values() for ref in fact.upstream)
    for ref in dict.fromkeys((*carried, *markers.load().refs())):
        world.add(Fact(ref))
    return world


@pytest.fixture
def desk(capsys, monkeypatch) -> Iterator[Desk]:
    with (
        tempfile.TemporaryDirectory(prefix="gbox-") as folder,
        serve_index(make_wheel("vllm", "0.32.0")) as index,
        github_thread(everything()) as double,
    ):
        monkeypatch.setenv("PIP_INDEX_URL", index.url)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        (Path(folder) / "list.yaml").write_text(LIST)
        (Path(folder) / "token").write_text(double.token)
        (Path(folder) / "token").chmod(0o600)
        box = Box(Path(folder), {}, {"metrics": {"listen": f"127.0.0.1:{free_port()}"}})
        box.settings["watch"] = {
            "watchlist": "list.yaml",
            "api": double.url,
            "token": {"file": str(Path(folder) / "token")},
            "schedule": dict.fromkeys(("nightly", "hourly", "weekly")),
            "new_pulls": {"most": 3, "pages": 3},
        }
        box.write()
        box.start()
        try:
            yield Desk(box, double, capsys)
        finally:
            box.finish()


def test_a_sweep_makes_the_list_true_and_a_second_one_changes_nothing(desk) -> None:
    """One line of the file is another, with the evidence behind its comment; page, status and list tell the same."""
    status, out, err = desk.ctl("watch", "sweep", "--now")
    assert status in ENDED, out + err
    before, after = LIST.splitlines(), desk.file.read_text().splitlines()
    assert len(before) == len(after)
    changed = [(old, new) for old, new in zip(before, after, strict=True) if old != new]
    assert [old for old, _ in changed] == ['  status: open      # "soon", they said']
    assert changed[0][1].startswith('  status: merged      # "soon", they said')
    whole = desk.file.read_bytes()
    assert desk.ctl("watch", "sweep", "--now")[0] in ENDED
    assert desk.file.read_bytes() == whole

    told, page = desk.told("watch", "status"), desk.page()
    rows = desk.told("watch", "list")["rows"]
    counts = {state: sum(row["state"] == state for row in rows) for state in ("open", "closed", "merged", "unknown")}
    assert counts == {"open": 1, "closed": 1, "merged": 2, "unknown": 0}
    assert {state: told["rows"].get(state, 0) for state in counts} == counts
    assert {state: page["rows", state] for state in counts} == counts
    decisions = desk.told("watch", "decisions")["decisions"]
    kinds = {kind: sum(one["kind"] == kind for one in decisions) for kind in {one["kind"] for one in decisions}}
    assert told["decisions"] == kinds
    shown: dict[str, float] = {}
    for (name, *labels), value in page.items():
        if name == "decisions_open":
            shown[labels[0]] = shown.get(labels[0], 0) + value
    assert shown == kinds
    assert kinds["trigger-can-never-fire"] == 1
    assert page["sweeps_total", "now", "done"] + page["sweeps_total", "now", "partial"] == 2
    assert (told["stale"], page["rows_stale",]) == (0, 0)


def test_what_a_person_says_survives_the_daemon(desk) -> None:
    """A decline with its reason, after kill -9 and another sweep; a predicate that cannot be read is refused with its place."""
    desk.ctl("watch", "sweep", "--now")
    dead = next(one for one in desk.told("watch", "decisions")["decisions"] if one["kind"] == "trigger-can-never-fire")
    status, _, err = desk.ctl("watch", "decline", str(dead["id"]), "--why", "no", "--revisit-when", "gpu sm 89")
    assert status == 1
    assert "'gpu sm 89'" in err
    assert desk.ctl("watch", "decline", str(dead["id"]), "--why", "we port it all the same")[0] == 0
    desk.box.kill()
    desk.box.start()
    desk.ctl("watch", "sweep", "--now")
    assert dead["id"] not in [one["id"] for one in desk.told("watch", "decisions")["decisions"]]
    kept = {one["id"]: one for one in desk.told("watch", "decisions", "--all")["decisions"]}[dead["id"]]
    assert (kept["standing"], kept["why"]) == ("declined", "we port it all the same")
    assert "we port it all the same" in desk.ctl("watch", "show", "40003")[1]
    assert desk.ctl("watch", "accept", "99999")[0] == 1


def test_an_upstream_that_falls_silent_changes_nothing(desk) -> None:
    """The sweep says so with its status, the rows keep what was known, and the next one that is answered tells the change."""
    desk.ctl("watch", "sweep", "--now")
    whole = desk.file.read_bytes()
    desk.double.world.merge(OPEN)
    desk.double.faults.down = True
    status, out, _ = desk.ctl("watch", "sweep", "--now")
    assert status in (1, 3)
    assert "done" not in out
    row = next(one for one in desk.told("watch", "list")["rows"] if one["ref"] == str(OPEN))
    assert (row["state"], row["claimed"], bool(row["unknown"])) == ("open", "open", True)
    assert desk.file.read_bytes() == whole
    assert "nothing was changed for it" in desk.ctl("watch", "show", str(OPEN))[1]
    desk.double.faults.down = False
    assert desk.ctl("watch", "sweep", "--now")[0] in ENDED
    assert "  status: merged      # looked at in June" in desk.file.read_text()
    assert "is merged" in desk.ctl("watch", "why", str(OPEN))[1]


def test_a_daemon_that_is_killed_in_its_sweep_is_not_taken_for_an_end(desk) -> None:
    """Who waits is told; the file is whole; the next daemon sweeps as if nothing had been."""
    desk.double.faults.next = [Slow(600.0)]
    child = subprocess.Popen(
        [*CTL, "--socket", str(desk.box.socket), "watch", "sweep", "--now"],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    until(lambda: desk.double.bodies or not desk.double.faults.next, what="upstream is asked")
    desk.box.kill()
    out, err = child.communicate(timeout=60)
    assert (child.returncode in (1, 3), out) == (True, "")
    assert "went away" in err or "the daemon ended before the sweep did" in err
    assert desk.file.read_text() == LIST
    desk.double.faults.next = []
    desk.box.start()
    assert desk.ctl("watch", "sweep", "--now")[0] in ENDED
    assert "  status: merged" in desk.file.read_text()


def test_a_report_and_a_check_for_the_morning(desk, tmp_path) -> None:
    """The newest report as text and as a page; the list checked against what upstream said."""
    assert desk.ctl("watch", "report")[0] == 1
    desk.ctl("watch", "sweep", "--now")
    text = desk.ctl("watch", "report")[1]
    assert "40002" in text
    page = tmp_path / "report.html"
    assert desk.ctl("watch", "report", "--html", "-o", str(page))[0] == 0
    assert page.read_text().lstrip().lower().startswith("<!doctype html>")
    argv = ["watch", "check", str(desk.file), "--against-upstream", "--json", "--socket", str(desk.box.socket)]
    done = subprocess.run([*CTL, *argv], cwd=ROOT, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    kinds = {(one["row"], one["kind"]) for one in told["findings"]}
    assert done.returncode == 10
    assert ("watch:vllm#40003", "trigger-can-never-fire") in kinds
    assert not [kind for _, kind in kinds if kind in ("claim-is-wrong", "never-verified")]


def test_without_a_watchlist_everything_says_so(desk) -> None:
    """After a reload too; and its series go, so that no alarm stays up."""
    assert desk.ctl("watch", "sweep", "--now")[0] in ENDED
    del desk.box.settings["watch"]["watchlist"]
    desk.box.write()
    assert desk.ctl("reload")[0] == 0
    until(lambda: not desk.page(), what="the series are gone")
    status, out, err = desk.ctl("watch", "status")
    assert (status, out) == (0, "")
    assert "nothing is watched" in err
    assert desk.ctl("watch", "sweep", "--now")[0] == 5
    assert desk.ctl("watch", "list")[1] == ""
