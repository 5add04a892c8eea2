"""The entry of genesisctl, and the table of its commands."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from genesisd.cli import running
from genesisd.cli.commands import LateGroup
from genesisd.cli.session import Session

_COMMANDS = {
    "status": ("genesisd.cli.status:status", "How the daemon and its workers are."),
    "workers": ("genesisd.cli.workers:workers", "List, show, start, stop, restart, drain, reset."),
    "logs": ("genesisd.cli.follow:logs", "What a worker wrote."),
    "events": ("genesisd.cli.follow:events", "What happened."),
    "probes": ("genesisd.cli.probes:probes", "What is asked of workers, how they stand; recording what is right."),
    "incidents": ("genesisd.cli.incidents:incidents", "What went wrong, and what was done."),
    "why": ("genesisd.cli.incidents:why", "Why a worker is as it is, in one paragraph."),
    "replay": ("genesisd.cli.incidents:replay", "Ask a worker again what was asked in an incident."),
    "quarantine": ("genesisd.cli.quarantine:quarantine", "Patches that are left out, cards that are not used."),
    "pins": ("genesisd.cli.pins:pins", "The engine versions, and building them."),
    "patches": ("genesisd.cli.patches:patches", "Patches: what they are, where they apply, what a worker gets."),
    "watch": ("genesisd.cli.watch:watch", "Pull requests upstream: what became of them, and what follows."),
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
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: Sequence[str]) -> int:
    """Run genesisctl; the exit status."""
    return running.run(root, argv, Session())


if __name__ == "__main__":
    main()
