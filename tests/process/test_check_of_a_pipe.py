"""``genesisctl watch check`` of what a shell puts in the place of a file: ``<(git show HEAD:watchlist.yaml)``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.helpers.watchlists import END, ROW, watch

pytestmark = pytest.mark.process
CHECK = (sys.executable, "-m", "genesisd.cli.main", "watch", "check")


def test_a_file_that_is_another_program_is_read():
    """The program that checks is a child of genesisctl, and has what the shell opened for the command."""
    reading, writing = os.pipe()
    os.write(writing, watch(ROW))
    os.close(writing)
    argv = [*CHECK, "--json", f"/dev/fd/{reading}"]
    done = subprocess.run(argv, check=False, capture_output=True, text=True, pass_fds=(reading,), timeout=100)
    os.close(reading)
    assert '"watch": 1, "sweep": 0' in done.stdout, done.stderr


def test_standard_input_is_read():
    """By its sign, and by its name."""
    for name in ("-", "/dev/stdin"):
        done = subprocess.run([*CHECK, "--json", name], check=False, input=END, capture_output=True, timeout=100)
        assert b'"watch": 0, "sweep": 0' in done.stdout, done.stderr
