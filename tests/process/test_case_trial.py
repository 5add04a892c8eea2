"""A patch's behaviour case on a pin's own files and with the patch: what is told of it, and what keeps it from being run."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from genesisd.clock import SystemClock
from genesisd.identity import process_ref
from genesisd.patches.catalog import catalog
from genesisd.watch.model import Pin, Pull, State
from genesisd.watch.refs import UPSTREAM, Ref
from genesisd.wiring import case_host
from genesisd.wiring.appraiser import ChildAppraiser
from genesisd.wiring.case_host import CaseError, CaseHost
from genesisd.wiring.case_trial import tried
from genesisd.wiring.overlay import overlay
from tests.helpers.keeper import eventually
from tests.helpers.planted_tree import plant, planted

pytestmark = pytest.mark.process
PATCH, EDIT, TEXT = planted()
EVERY = {patch.id: patch for patch in catalog()}
CASE = "tests/catalog/cases/planted.py"
SOURCE = f"""
import os, pathlib
ID = "{PATCH.id}"
VERDICTS = {{"0.32.0": "applied"}}
RED, GREEN = {{"has": False}}, {{"has": True}}
def observe(version):
    if version == "0.30.0":
        raise LookupError("no such thing in 0.30.0")
    text = (pathlib.Path(os.environ["CASE_TREE"]) / {EDIT.path!r}).read_text()
    return {{"has": {EDIT.variants[0].anchor!r} not in text}}
"""


@pytest.fixture
def checkout(tmp_path):
    """A clone with a host that needs no engine, and one case."""
    folder = tmp_path / "clone"
    (folder / CASE).parent.mkdir(parents=True)
    (folder / CASE).write_text(SOURCE)
    shutil.copy(Path(__file__).parents[1] / "helpers" / "stand_in_host.py", folder / case_host.HOST)
    return folder


@pytest.fixture
def pin(tmp_path):
    return Pin(id="p32", version="0.32.0", tree=str(plant(tmp_path / "tree")), python=sys.executable)


def mended(folder):
    """The planted tree with what the patch does in it."""
    plant(folder)
    file = folder / EDIT.path
    file.write_text(TEXT.replace(EDIT.variants[0].anchor, EDIT.written(EDIT.variants[0])))
    return str(folder)


def trial(checkout, *pins):
    return tried(PATCH, EVERY, CASE, checkout, pins)


def test_the_defect_is_seen_without_the_patch_and_gone_with_it(checkout, pin, tmp_path):
    """Both on the pin itself, whose own files stay as they were."""
    before = {file: file.stat() for file in (tmp_path / "tree").rglob("*")}
    found = trial(checkout, pin)
    assert found.told == "fails without, passes with ours"
    assert {file: file.stat() for file in (tmp_path / "tree").rglob("*")}.keys() == before.keys()
    assert (tmp_path / "tree" / EDIT.path).read_text() == TEXT


def test_where_upstream_has_it_ours_is_tried_on_another_pin(checkout, pin, tmp_path):
    """Else nobody would know whether the case can still fail."""
    newer = replace(pin, id="p33", version="0.33.0", tree=mended(tmp_path / "newer"))
    found = trial(checkout, newer, pin)
    assert (found.without, found.with_ours, found.on) == (True, True, "p32")
    assert "passes without, passes with ours on p32" in found.told
    bare = trial(checkout, newer, replace(pin, python=""))
    assert (bare.without, bare.with_ours, bare.no_environment) == (True, None, ("p32",))
    assert trial(checkout, newer).with_ours is None
    assert "ours has no place on p33" in trial(checkout, newer).why


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"python": ""}, "on p32: it has no environment here to run the case in"),
        ({"python": "/nonexistent/python"}, "on p32: /nonexistent/python cannot be started: No such file or directory"),
        ({"python": "/bin/false"}, "on p32: the host of cases did not come up"),
        ({"version": "0.30.0"}, "on p32: LookupError: no such thing in 0.30.0"),
    ],
)
def test_what_cannot_be_run_speaks_for_neither_side(checkout, pin, change, why):
    """And says what keeps it from being run."""
    found = trial(checkout, replace(pin, **change))
    assert (found.without, found.with_ours) == (None, None)
    assert found.why.startswith(why)
    assert found.no_environment == (() if change.get("python") or "version" in change else ("p32",))


def test_a_case_that_speaks_of_releases_says_nothing_of_another(checkout, pin):
    """What it wants there is not known, and a guess could retire a patch."""
    (checkout / CASE).write_text(SOURCE.replace('{"has": True}', '{"0.32.0": {"has": True}}'))
    assert trial(checkout, pin).told == "fails without, passes with ours"
    found = trial(checkout, replace(pin, version="0.32.1"))
    assert (found.without, found.with_ours, found.why) == (None, None, "on p32: the case says nothing of 0.32.1")


def test_without_the_tests_of_the_project_there_is_nothing_to_run(tmp_path, pin):
    """As where it is installed from a wheel."""
    assert tried(PATCH, EVERY, CASE, tmp_path, [pin]).why == "the project is installed without its tests"


def test_a_case_without_an_end_is_ended(checkout, pin, tmp_path):
    """With the process that runs it; the host is of no use after that."""
    told = tmp_path / "pid"
    (checkout / CASE).write_text(
        SOURCE.replace("    if version", f"    pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\n    import time; time.sleep(600)\n    if version")
    )  # fmt: skip
    home = tmp_path / "home"
    home.mkdir()
    for seconds in (2.0, 10.0, 60.0):  # until one lets the case say which process runs it
        with CaseHost(Path(pin.python), checkout, home, seconds=seconds) as host:
            with pytest.raises(CaseError, match=f"the case did not come to an end within {seconds:g} s"):
                host.observe(Path(pin.tree), pin.version, checkout / CASE)
            with pytest.raises(CaseError):
                host.observe(Path(pin.tree), pin.version, checkout / CASE)
        if told.exists() and told.read_text():
            break
    assert process_ref(int(told.read_text())) is None


def test_a_host_has_nothing_of_the_daemons_environment(checkout, pin, tmp_path, monkeypatch):
    """It runs the engine's code, and secrets are none of its business."""
    monkeypatch.setenv("HF_TOKEN", "secret")
    (checkout / CASE).write_text(SOURCE.replace("return {", "return dict(os.environ) or {"))
    home = tmp_path / "home"
    home.mkdir()
    with CaseHost(Path(pin.python), checkout, home) as host:
        seen = host.observe(Path(pin.tree), pin.version, checkout / CASE).seen
    assert "HF_TOKEN" not in seen
    assert (seen["CUDA_VISIBLE_DEVICES"], seen["HOME"]) == ("", str(home))


def test_an_overlay_is_the_tree_with_some_files_changed(tmp_path):
    """What changes is real, its neighbours are links, bytecode stays behind, and new folders are made."""
    tree = tmp_path / "tree"
    for name in ("p/__init__.py", "p/a/x.py", "p/a/y.py", "p/b/z.py", "q/w.py", "p/a/__pycache__/x.pyc"):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(name)
    target = tmp_path / "target"
    target.mkdir()
    overlay(tree, target, {"p/a/x.py": "new\r\n", "p/c/n.py": "", "p/b/z.py": "z"})
    found = {
        str(Path(at, file).relative_to(target)) for at, _, files in os.walk(target, followlinks=True) for file in files
    }
    assert found == {"p/__init__.py", "p/a/x.py", "p/a/y.py", "p/b/z.py", "p/c/n.py"}
    assert (target / "p/a/x.py").read_bytes() == b"new\r\n"
    assert (target / "p/a/y.py").is_symlink()
    assert (tree / "p/a/x.py").read_text() == "p/a/x.py"


CHILD = """
import sys, pathlib
from genesisd.wiring import appraise
from genesisd.wiring.patch_facts import PatchFacts
appraise.CHECKOUT = pathlib.Path(sys.argv[1])
appraise.patch_facts = lambda: PatchFacts(checkout=appraise.CHECKOUT).facts()
sys.exit(appraise.main())
"""
PULL = Pull(ref=Ref(UPSTREAM, 1), state=State.MERGED, checked_at=1.0, head="abc")


async def test_a_dossier_tells_what_the_case_said(checkout, pin):
    """Through the child that looks into pins, and which test was run."""
    appraiser = ChildAppraiser(SystemClock(), argv=(sys.executable, "-c", CHILD, str(checkout)))
    found = await appraiser.dossier(PATCH.id, PULL, None, pin)
    assert found.tests == {CASE: "fails without, passes with ours"}
    assert found.ran == (CASE,)
    bare = await appraiser.dossier(PATCH.id, PULL, None, replace(pin, python=""))
    assert bare.ran == ()
    assert (found.no_environment, bare.no_environment) == ((), ("p32",))
    assert "it has no environment here" in bare.tests[CASE]


async def test_a_look_that_is_ended_takes_its_case_along(checkout, pin, tmp_path):
    """Nothing of it computes on beside the workers."""
    told = tmp_path / "pid"
    waits = f"    pathlib.Path({str(told)!r}).write_text(str(os.getpid()))\n    import time; time.sleep(600)\n"
    (checkout / CASE).write_text(SOURCE.replace("    if version", f"{waits}    if version"))
    argv = (sys.executable, "-c", CHILD, str(checkout))
    asked = asyncio.create_task(ChildAppraiser(SystemClock(), argv=argv).dossier(PATCH.id, PULL, None, pin))
    await eventually(lambda: told.exists() and told.read_text())
    case = int(told.read_text())
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    await eventually(lambda: process_ref(case) is None)
