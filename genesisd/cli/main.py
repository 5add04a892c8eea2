"""The entry of genesisctl: parses, runs one command, and turns whatever happens into an exit status."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from genesisd.cli import exits
from genesisd.cli.commands import LateGroup
from genesisd.cli.session import ReaderGoneError, Session
from genesisd.errors import GenesisError

_COMMANDS = {
    "status": ("genesisd.cli.status:status", "How the daemon and its workers are."),
    "workers": ("genesisd.cli.workers:workers", "List, show, start, stop, restart, drain, reset."),
    "logs": ("genesisd.cli.follow:logs", "What a worker wrote."),
    "events": ("genesisd.cli.follow:events", "What happened."),
    "pins": ("genesisd.cli.pins:pins", "The engine versions, and building them."),
    "config": ("genesisd.cli.config:config", "Check a configuration."),
    "reload": ("genesisd.cli.daemon:reload", "Read the configuration again."),
    "shutdown": ("genesisd.cli.daemon:shutdown", "End the daemon."),
    "version": ("genesisd.cli.daemon:version", "Versions of genesisctl and the daemon."),
    "completion": ("genesisd.cli.completion:completion", "Completion for bash, zsh or fish."),
}
_EXAMPLES = """
genesisctl status
genesisctl workers restart main --wait
genesisctl logs main -f
"""
_EPILOG = (
    "Exit status: 0 done, 1 failed, 2 usage, 3 daemon not running or a wanted worker not ready, 4 timeout, "
    "5 conflict, 6 no permission, 10 and up a check found something, 130 interrupted."
)

root = LateGroup(
    "genesisctl",
    help="Controls genesisd, which keeps patched vLLM workers up, and right.",
    late=_COMMANDS,
    examples=_EXAMPLES,
    epilog=_EPILOG,
)


def main(argv: Sequence[str] | None = None) -> None:
    """Run genesisctl and exit with its status."""
    if isinstance(sys.stdout, TextIOWrapper):  # a worker may write what the terminal's encoding has no word for
        sys.stdout.reconfigure(errors="replace")
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run genesisctl; the exit status."""
    session = Session()
    try:
        status = _run(list(argv), session)
        session.flush()
    except ReaderGoneError:
        _forget_stdout()
        return exits.BROKEN_PIPE
    return status


def _run(argv: list[str], session: Session) -> int:
    try:
        status = root.main(argv, prog_name="genesisctl", standalone_mode=False, obj=session)
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
    return status if isinstance(status, int) else exits.OK


def _forget_stdout() -> None:
    """Whoever read us has seen enough; the interpreter's own last flush must not complain either."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


if __name__ == "__main__":
    main()
