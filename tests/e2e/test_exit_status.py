"""The daemon's exit status tells whether starting it again could help."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from tests.helpers.box import FAKE, ROOT, free_port

REFUSED = {
    "unknown field": "workerz: {}\n",
    "no YAML": "workers: [\n",
    "rule between parts": "workers: {a: {command: [x], after: [b]}}\n",
    "missing pins file": "pins: absent.yaml\n",
    "broken pins file": "pins: genesisd.yaml\nworkers: {a: {pin: x, model: m}}\n",
}


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    """genesisd until its end."""
    argv = [sys.executable, "-m", "genesisd", *map(str, arguments)]
    return subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_a_refused_configuration_has_a_status_of_its_own(tmp_path, text):
    """78, by which systemd knows that another try is of no use."""
    file = tmp_path / "genesisd.yaml"
    file.write_text(text)
    done = run("--config", file)
    assert (done.returncode, "Traceback" in done.stderr, str(tmp_path) in done.stderr) == (78, False, True)


def test_a_missing_configuration_is_a_refused_one(tmp_path):
    """The error names the file."""
    done = run("--config", tmp_path / "absent.yaml")
    assert (done.returncode, str(tmp_path / "absent.yaml") in done.stderr) == (78, True)


def test_what_may_pass_has_another_status(box):
    """A taken metrics address: 1, so that systemd tries again; workers that were begun wait for it."""
    port = free_port()
    one = box({"w": {"command": [*FAKE, "--bare"]}}, start=False, metrics={"listen": f"127.0.0.1:{port}"})
    with socket.create_server(("127.0.0.1", port)):
        assert one.start(wait=False).ended() == 1
    assert f"127.0.0.1:{port}" in one.log.read_text()
    assert "Traceback" not in one.log.read_text()
