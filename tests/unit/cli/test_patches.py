"""What genesisctl hands to the program that reads patches."""

from __future__ import annotations

import os
import sys

import pytest

from genesisd.cli import patches
from genesisd.cli.main import run
from genesisd.patchtool import app


@pytest.fixture
def handed(monkeypatch):
    """The command lines that would take this process's place."""
    seen = []

    def execv(program, argv):
        seen.append((program, argv))
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    return seen


def line(handed, *argv):
    with pytest.raises(SystemExit):
        run(argv)
    program, seen = handed[-1]
    assert program == sys.executable
    assert seen[:4] == [sys.executable, "-P", "-m", "genesisd.patchtool"]
    return seen[4:]


def test_arguments_go_on_as_they_are(handed):
    """Options, values, unknown words: the program judges them."""
    said = ["check", "--pin", "x", "--tree=y", "-o", "z", "more", "--", "-w"]
    assert line(handed, "patches", *said) == said


def test_help_is_the_programs_own(handed):
    """It knows its options."""
    assert line(handed, "patches", "show", "-h") == ["show", "-h"]


def test_options_that_stood_before_go_along(handed):
    """They may stand anywhere."""
    argv = ["--json", "-q", "--socket", "/s", "patches", "--no-color", "list"]
    assert line(handed, *argv) == ["--json", "--no-color", "--quiet", "--socket", "/s", "list"]


def test_the_program_has_every_command_that_is_told():
    """A command in the help that is not there would be a broken promise."""
    for name in patches.TOLD:
        command = app.root.get_command(None, name)
        assert command is not None
        assert command.name == name
    assert set(app.root.late) == set(patches.TOLD)
