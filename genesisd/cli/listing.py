"""A group whose ``list`` may be left out: ``genesisctl probes main`` is ``genesisctl probes list main``."""

from __future__ import annotations

from collections.abc import Sequence

import click
from click.shell_completion import CompletionItem

from genesisd.cli.commands import LateGroup

LIST = "list"


class ListGroup(LateGroup):
    """What is no other command's name is for ``list``, as long as ``list`` takes that many words."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the word in that was left out; a mistyped command is still told so."""
        if not ctx.resilient_parsing and not {"-h", "--help"} & set(args) and self._means_list(ctx, args):
            args = [LIST, *args]
        return super().parse_args(ctx, args)

    def _means_list(self, ctx: click.Context, args: Sequence[str]) -> bool:
        listing = self.get_command(ctx, LIST)
        assert listing is not None  # noqa: S101 - the group is made for one
        words = _words(args, _valued(listing))
        room = sum(isinstance(one, click.Argument) for one in listing.params)
        return not (words and words[0] in self.list_commands(ctx)) and len(words) <= room

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The commands, and what ``list`` itself would take."""
        found = super().shell_complete(ctx, incomplete)
        listing = self.get_command(ctx, LIST)
        if listing is None or incomplete.startswith("-"):
            return found
        arguments = [one for one in listing.params if isinstance(one, click.Argument)]
        return [*found, *(item for one in arguments[:1] for item in one.shell_complete(ctx, incomplete))]


def _valued(command: click.Command) -> set[str]:
    """The options that are followed by a value."""
    options = (one for one in command.params if isinstance(one, click.Option) and not one.is_flag)
    return {name for one in options for name in one.opts}


def _words(args: Sequence[str], valued: set[str]) -> list[str]:
    """The arguments that are neither options nor their values."""
    words: list[str] = []
    rest = iter(args)
    for one in rest:
        if one in valued:
            next(rest, None)
        elif not one.startswith("-"):
            words.append(one)
    return words
