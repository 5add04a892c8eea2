"""``genesisctl patches``: hands each command to a program of its own, since reading patches needs what starts slowly."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any, NoReturn

import click

from genesisd.cli.commands import LateGroup
from genesisd.cli.session import Session

PROGRAM = "genesisd.patchtool"
TOLD: Mapping[str, str] = {
    "list": "The patches, those that are only known included.",
    "show": "All there is to know about one patch.",
    "check": "Whether the catalog applies to a tree.",
    "export": "One patch as a git patch, to offer upstream.",
    "docs": "Write docs/PATCHES.md and docs/RELEASE_POLICY.md.",
    "new": "Begin a patch: its file, its case, its id.",
    "proof": "Whether the catalog may be released.",
    "audit": "The tier of each patch, and what decides it.",
}
"""The commands of the program, with a line of help each."""


class Handed(click.Command):
    """A command that another program reads: its arguments, options and even ``-h`` are passed on as they are."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Nothing is read here, not even ``--``."""
        ctx.params["arguments"] = tuple(args)
        return []

    def invoke(self, ctx: click.Context) -> NoReturn:
        """Let the program take this process's place: signals, terminal and exit status are then its own."""
        sys.stdout.flush()
        argv = command(ctx.ensure_object(Session), ctx.info_name or "", ctx.params["arguments"])
        os.execv(argv[0], argv)  # noqa: S606 - no shell is meant


def command(session: Session, name: str, arguments: tuple[str, ...]) -> list[str]:
    """The command line of the program; options that stood before the command go with it."""
    flags: dict[str, Any] = {"--json": session.json, "--no-color": session.no_color, "--quiet": session.quiet}
    said = [flag for flag, given in flags.items() if given]
    said += ["--socket", session.socket] if session.socket else []
    return [sys.executable, "-P", "-m", PROGRAM, *said, name, *arguments]


patches = LateGroup(
    "patches",
    help="Patches: what they are, where they apply, what a worker gets.",
    examples="""
    genesisctl patches list
    genesisctl patches explain P61c --worker main
    genesisctl patches check --pin cpu-0.32.0
    """,
)

for _name, _line in TOLD.items():
    patches.add_command(Handed(_name, help=_line, add_help_option=False))
