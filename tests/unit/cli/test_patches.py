"""What genesisctl hands to the program that reads patches."""

from __future__ import annotations

import sys

import pytest

from genesisd.cli import child, patches
from genesisd.cli.main import run
from genesisd.patchtool import app


@pytest.fixture
def handed(monkeypatch):
    """The command lines that would be run."""
    seen = []
    monkeypatch.setattr(child, "pass_through", lambda argv: seen.append(argv) or 10)
    return seen


def line(handed, *argv):
    assert run(argv) == 10  # whatever the program ends with
    assert handed[-1][:4] == [sys.executable, "-P", "-m", "genesisd.patchtool"]
    return handed[-1][4:]


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
