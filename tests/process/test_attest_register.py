"""The plugin in a running process: what it writes, when it writes again, what forks do, and that it harms nobody."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from genesisd.attest.folder import read_folder
from genesisd.attest.model import State
from tests.helpers.attested import NOBODY, Build

PATH = "vllm/thing.py"
BEFORE = "def f(): return 1\n"
AFTER = "_genesis_hits = {'P1': 0}\n_genesis_skips = {'P1': {}}\ndef f():\n    _genesis_hits['P1'] += 1\n    return 2\n"
WAIT = """
import json, os, sys, time
def until(answer, seconds=60):
    end = time.monotonic() + seconds
    while not (found := answer()):
        assert time.monotonic() < end, "not in time"
        time.sleep(0.02)
    return found
def report(pid=None):
    try:
        return json.load(open(f"{os.environ['GENESIS_ATTEST_DIR']}/{pid or os.getpid()}.json"))
    except OSError:
        return None
def item(pid=None):
    return next(one for one in (report(pid) or {"items": [{"name": "f"}]})["items"] if one["name"] == "f")
"""


@pytest.fixture
def build(tmp_path: Path) -> Build:
    proofs = {"P1": [{"role": "engine", "counter": "vllm.thing:_genesis_hits"}], "P2": [{"log": "two is on"}]}
    return Build(tmp_path, {PATH: BEFORE}, {PATH: AFTER}, {"P1": [[PATH, "f"], [PATH, ""]]}, proofs=proofs)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where reports go; no half-written one may be left in it."""
    path = tmp_path / "reports"
    path.mkdir()
    yield path
    assert {one.suffix for one in path.iterdir()} <= {".json"}


def run(build: Build, folder: Path, script: str) -> str:
    return build.run(WAIT + textwrap.dedent(script), {"GENESIS_ATTEST_DIR": str(folder)})


def test_a_report_comes_and_follows_what_is_loaded(build: Build, folder: Path):
    """Not loaded at first, live once imported, and other once it was swapped: each time by a new report."""
    said = run(build, folder, """
        import genesisd_attest
        genesisd_attest.register()
        until(lambda: item().get("state") == "not_loaded")
        import vllm.thing
        live = until(lambda: item().get("digest"))
        vllm.thing.f = lambda: 2
        other = until(lambda: item()["digest"] != live and item())
        assert other["note"].startswith("the code stands in"), other
        print(report()["seq"])
    """)  # fmt: skip
    assert int(said) >= 3
    (report,) = read_folder(folder).reports
    assert report.build == build.root.name
    assert build.judge(report).state is State.REFUSED


def test_a_module_that_was_there_before_the_plugin_is_looked_at(build: Build, folder: Path):
    """The plugin is called late in some processes; it needs no hook in the import of anything."""
    run(build, folder, """
        import vllm.thing
        import genesisd_attest
        genesisd_attest.register()
        until(report)
    """)  # fmt: skip
    (report,) = read_folder(folder).reports
    assert build.judge(report).state is State.ATTESTED


def test_registering_again_changes_nothing(build: Build, folder: Path):
    """vLLM may call it twice: one thread, one file."""
    said = run(build, folder, """
        import threading, genesisd_attest
        for _ in range(3):
            genesisd_attest.register()
        until(report)
        print(sum(one.name == "genesisd-attest" for one in threading.enumerate()))
    """)  # fmt: skip
    assert said.split() == ["1"]


def test_counters_skips_and_log_lines_are_told(build: Build, folder: Path):
    """Proofs of life are counted: a counter of the module, a line of the log, and the reasons to stand aside."""
    run(build, folder, """
        import logging, genesisd_attest, vllm.thing
        logger = logging.getLogger("vllm")
        logger.setLevel(logging.INFO)
        genesisd_attest.register()
        until(report)
        for _ in range(3):
            vllm.thing.f()
        vllm.thing._genesis_skips["P1"]["too short"] = 2
        logging.getLogger("vllm.engine").info("part %s is on", "two")
        logging.getLogger("vllm.engine").info("%d", "not a number")
        logging.getLogger("vllm.engine").info("%s is on", "two")
        until(lambda: report()["hits"] == {"P1": 3, "P2": 2})
        logger.handlers.clear()  # the engine configures its log anew
        until(lambda: logger.handlers)
        logger.info("two is on")
        until(lambda: report()["hits"]["P2"] == 3)
        print(json.dumps(report()))
    """)  # fmt: skip
    (report,) = read_folder(folder).reports
    assert report.hits == {"P1": 3, "P2": 3}
    assert report.skips == {"P1": {"too short": 2}}
    assert build.judge(report).state is State.ATTESTED, "counters are no constants"


def test_a_fork_reports_for_itself(build: Build, folder: Path):
    """A forked worker has its parent's modules and not its thread: it begins anew, under its own pid and role."""
    said = run(build, folder, """
        import multiprocessing, genesisd_attest, vllm.thing
        genesisd_attest.register()
        until(report)
        def work():
            until(lambda: (report() or {}).get("role") == "worker")
            vllm.thing.f()
            until(lambda: report()["hits"] == {"P1": 1})
        child = multiprocessing.get_context("fork").Process(target=work, name="VllmWorker-0")
        child.start()
        child.join()
        print(child.exitcode, child.pid, os.getpid())
    """)  # fmt: skip
    status, child, parent = map(int, said.split())
    assert status == 0
    reports = {one.pid: one for one in read_folder(folder).reports}
    assert reports.keys() == {child, parent}
    assert reports[child].role == "worker"
    assert reports[child].items == reports[parent].items
    assert reports[child].start_ticks > 0
    assert reports[parent].hits == {"P1": 0}


@pytest.mark.parametrize(
    ("name", "title", "leads", "role"),
    [
        ("EngineCore", "python serve", True, "engine"),
        ("EngineCore_DP1", "x", True, "engine"),
        ("VllmWorker-0", "x", True, "worker"),
        ("ApiServer_0", "x", True, "api"),
        ("MainProcess", "genesis:w:1::Worker_TP0", True, "worker"),
        ("Process-3", "VLLM::EngineCore", False, "engine"),
        ("DPCoordinator", "VLLM::DPCoordinator", True, "other"),
        ("MainProcess", "/bin/vllm serve m --url a::Worker", True, "api"),
        ("MainProcess", "/bin/vllm serve m", False, "other"),
        ("Process-1", "/bin/vllm serve m", True, "other"),
    ],
)
def test_roles(name: str, title: str, leads: bool, role: str, monkeypatch: pytest.MonkeyPatch):
    """The title once vLLM has set it, before that what multiprocessing calls the process; the first serves."""
    from genesisd.attest import plugin

    monkeypatch.setattr(plugin.sys, "argv", ["/bin/vllm", "serve", "m"])
    assert plugin.role_of(name, title, leads=leads) == role


def test_nothing_happens_without_a_folder(build: Build):
    """Somebody may run the build by hand."""
    said = build.run("import genesisd_attest as a, threading; a.register(); print(threading.active_count())", {})
    assert said.split() == ["1"]


def test_a_broken_plan_is_confessed(build: Build, folder: Path):
    """The engine starts all the same; the report says why it holds nothing, and is refused by name of each item."""
    (build.root / "genesisd_attest.json").write_text("{")
    run(build, folder, "import genesisd_attest; genesisd_attest.register()")
    (report,) = read_folder(folder).reports
    assert report.faults[0].startswith("JSONDecodeError")
    assert "was not looked at: JSONDecodeError" in build.judge(report).summary


def test_a_folder_that_cannot_be_written_harms_nobody(build: Build, tmp_path: Path):
    """No report is what the daemon then sees; the engine sees nothing."""
    run(build, tmp_path / "absent", """
        import genesisd_attest, threading
        genesisd_attest.register()
        until(lambda: genesisd_attest._watch.faults)
        assert any(one.name == "genesisd-attest" for one in threading.enumerate())
    """)  # fmt: skip


def test_a_report_that_was_taken_away_is_written_again(build: Build, folder: Path):
    """Whoever cleans up must not make a process look silent for the rest of its life."""
    run(build, folder, """
        import genesisd_attest
        genesisd_attest.register()
        first = until(report)
        os.unlink(f"{os.environ['GENESIS_ATTEST_DIR']}/{os.getpid()}.json")
        assert until(report)["seq"] > first["seq"]
    """)  # fmt: skip


def test_a_stranger_in_a_module_is_a_missing_item(build: Build, folder: Path):
    """Something that is no function stands where one must be."""
    run(build, folder, """
        import genesisd_attest, vllm.thing
        vllm.thing.f = 7
        genesisd_attest.register()
        until(report)
    """)  # fmt: skip
    (report,) = read_folder(folder).reports
    assert "vllm.thing.f is not there, or is no function" in build.judge(report).summary


def test_a_tree_from_elsewhere_is_unpatched(build: Build, folder: Path):
    """The plugin runs, and the package beside it was found somewhere else: that is the finding."""
    pristine = str(build.folder / "pristine")
    run(build, folder, f"""
        import genesisd_attest
        sys.path.insert(0, {pristine!r})
        import vllm.thing
        genesisd_attest.register()
        until(report)
    """)  # fmt: skip
    (report,) = read_folder(folder).reports
    verdict = build.judge(report, NOBODY)
    assert [one.cause for one in verdict.findings] == ["unpatched"]
    assert f"runs the vLLM of {pristine}/vllm/__init__.py" in verdict.summary


def test_a_run_as_main_is_found(build: Build, folder: Path):
    """``python -m vllm.thing`` executes the patched module under another name."""
    script = (
        AFTER + "import genesisd_attest; genesisd_attest.register()\n" + WAIT + "until(lambda: item().get('digest'))"
    )
    build = Build(build.folder / "main", {PATH: BEFORE}, {PATH: script}, {"P1": [[PATH, "f"]]})
    build.run(
        "import runpy; runpy.run_module('vllm.thing', run_name='__main__', alter_sys=True)",
        {"GENESIS_ATTEST_DIR": str(folder)},
    )
    (report,) = read_folder(folder).reports
    assert {key[1]: one.state for key, one in report.items.items() if key[1] == "f"} == {"f": "live"}
    assert json.dumps(report.title)
