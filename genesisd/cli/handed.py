"""Commands that a program of its own carries out: it starts slowly, and reads what genesisctl itself never loads."""

from __future__ import annotations

import sys
from typing import Any

import click

from genesisd.cli.session import Session


class Handed(click.Command):
    """A command that another program reads: its arguments, options and even ``-h`` are passed on as they are.

    Args:
        program: module that is run.
    """

    def __init__(self, *args: Any, program: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs | {"add_help_option": False})
        self.program = program

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Nothing is read here, not even ``--``."""
        ctx.params["arguments"] = tuple(args)
        return []

    def invoke(self, ctx: click.Context) -> int:
        """Run the program, and end as it does. A child, not this process: whoever calls us from within lives on."""
        from genesisd.cli.child import pass_through  # noqa: PLC0415 - costs start-up time, and attest has no child

        sys.stdout.flush()
        session = ctx.ensure_object(Session)
        return pass_through(command(session, self.program, ctx.info_name or "", ctx.params["arguments"]))


def command(session: Session, program: str, name: str, arguments: tuple[str, ...]) -> list[str]:
    """The command line of the program; options that stood before the command go with it."""
    flags: dict[str, Any] = {"--json": session.json, "--no-color": session.no_color, "--quiet": session.quiet}
    said = [flag for flag, given in flags.items() if given]
    said += ["--socket", session.socket] if session.socket else []
    return [sys.executable, "-P", "-m", program, *said, name, *arguments]
