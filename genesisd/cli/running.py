"""One run of a command line: parses, runs one command, and turns whatever happens into an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from genesisd.cli import exits
from genesisd.cli.session import ReaderGoneError, Session
from genesisd.control.client import ControlError
from genesisd.errors import GenesisError


def run(root: click.Command, argv: Sequence[str], session: Session, name: str = "genesisctl") -> int:
    """Run one command of ``root``, which people type as ``name``; the exit status."""
    if isinstance(sys.stdout, TextIOWrapper):  # a worker may write what the terminal's encoding has no word for
        sys.stdout.reconfigure(errors="replace")
    try:
        status = _run(root, list(argv), session, name)
        session.flush()
    except ReaderGoneError:
        _forget_stdout()
        return exits.BROKEN_PIPE
    return status


def _run(root: click.Command, argv: list[str], session: Session, name: str) -> int:
    try:
        status = root.main(argv, prog_name=name, standalone_mode=False, obj=session)
    except click.exceptions.NoArgsIsHelpError as problem:
        problem.show()
        return exits.USAGE
    except click.ClickException as problem:
        problem.show()
        return exits.USAGE if isinstance(problem, click.UsageError) else exits.FAILED
    except (click.Abort, KeyboardInterrupt):
        return exits.INTERRUPTED
    except GenesisError as problem:
        session.complain(problem)
        return exits.exit_status(problem.code)
    except OSError as problem:
        refused = _refused(problem)
        session.complain(refused)
        return exits.exit_status(refused.code)
    return status if isinstance(status, int) else exits.OK


def _refused(problem: OSError) -> ControlError:
    """What the system would not do, and with which file: its own words say what to mend."""
    name = problem.filename
    where = f"{os.fsdecode(name)}: " if isinstance(name, str | bytes | os.PathLike) else ""
    what = problem.strerror or str(problem) or type(problem).__name__
    return ControlError("permission" if isinstance(problem, PermissionError) else "error", where + what)


def _forget_stdout() -> None:
    """Whoever read us has seen enough; the interpreter's own last flush must not complain either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
