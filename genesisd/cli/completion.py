"""``genesisctl completion``: a script for the shell, which asks genesisctl again at each press of the tab key."""

from __future__ import annotations

import click

from genesisd.cli import exits
from genesisd.cli.commands import Verb
from genesisd.cli.session import Session


@click.command(
    cls=Verb,
    examples="""
    genesisctl completion bash > ~/.local/share/bash-completion/completions/genesisctl
    source <(genesisctl completion zsh)
    genesisctl completion fish > ~/.config/fish/completions/genesisctl.fish
    """,
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> int:
    """Completion of commands, options and worker names."""
    from click.shell_completion import get_completion_class  # noqa: PLC0415 - costs start-up time

    kind = get_completion_class(shell)
    assert kind is not None  # noqa: S101 - the choice above is click's own list
    script = kind(context.find_root().command, {}, "genesisctl", "_GENESISCTL_COMPLETE")
    context.ensure_object(Session).answer(script.source_template % script.source_vars())
    return exits.OK
