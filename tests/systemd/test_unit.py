"""The unit files themselves, as systemd's own tools judge them on this machine."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXPOSURE_LIMIT = 2.5

pytestmark = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit as it is installed, but with programs that exist here."""
    text = (ROOT / "systemd/genesisd.service.in").read_text()
    path = tmp_path / "genesisd.service"
    path.write_text(text.replace("@LIBDIR@/venv/bin/python3", "/usr/bin/python3").replace("@SYSCONFDIR@", "/etc"))
    return path


def test_systemd_finds_no_fault(unit):
    """systemd-analyze verify has nothing to say."""
    done = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    ours = [line for line in (done.stdout + done.stderr).splitlines() if "genesisd" in line]
    assert (done.returncode, ours) == (0, [])


def test_the_exposure_is_bounded(unit):
    """The hardening keeps the exposure that systemd computes within the limit."""
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    level = re.search(r"Overall exposure level for genesisd.service: ([\d.]+)", done.stdout)
    assert level, done.stdout + done.stderr
    assert float(level[1]) <= EXPOSURE_LIMIT


@pytest.mark.parametrize(
    ("setting", "otherwise"),
    [
        ("KillMode=process", "restart kills the workers"),
        ("PrivateTmp=no", "restart takes the workers' /tmp"),
        ("RemoveIPC=no", "restart takes the workers' /dev/shm"),
        ("Delegate=yes", "the daemon cannot make sub-groups"),
        ("OOMPolicy=continue", "one worker out of memory ends them all"),
        ("RuntimeDirectoryPreserve=restart", "restart takes the sockets of the shims"),
    ],
)
def test_what_the_workers_lives_depend_on_is_set(unit, setting, otherwise):
    """Each setting that keeps workers alive over a restart is there."""
    assert setting in unit.read_text().splitlines(), otherwise


def test_nothing_brings_the_dangerous_settings_back(unit):
    """DynamicUser implies PrivateTmp and RemoveIPC, and MemoryDenyWriteExecute stops torch's compiler."""
    text = "\n".join(line for line in unit.read_text().splitlines() if not line.startswith("#"))
    assert not re.search(r"^(DynamicUser|MemoryDenyWriteExecute|PrivateDevices)=(yes|true|1|on)", text, re.MULTILINE)
