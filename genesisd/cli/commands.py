"""What all commands share: global options in any place, examples first in the help, groups that load late."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from genesisd.cli.session import Session

_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def _remember(context: click.Context, option: click.Parameter, value: Any) -> None:
    """An option given before the command is not undone by its absence after it."""
    if value and option.name:
        setattr(context.ensure_object(Session), option.name, value)


def global_options() -> list[click.Parameter]:
    """The options that every command takes."""
    kind: dict[str, Any] = {"expose_value": False, "callback": _remember, "is_eager": True}
    return [
        click.Option(
            ["--socket"],
            metavar="PATH",
            help="The daemon's control socket. [env: GENESISD_SOCKET]",
            **kind,
        ),
        click.Option(["--json"], is_flag=True, help="Answer with JSON for programs.", **kind),
        click.Option(["--no-color"], is_flag=True, help="No colours. [env: NO_COLOR]", **kind),
        click.Option(["-q", "--quiet"], is_flag=True, help="Only answers and errors.", **kind),
    ]


def _write_examples(formatter: click.HelpFormatter, examples: str) -> None:
    if examples:
        with formatter.section("Examples"):
            formatter.write("".join(f"  {line.strip()}\n" for line in examples.strip().splitlines()))


class Verb(click.Command):
    """A command. ``examples`` are command lines, one a line."""

    def __init__(self, *args: Any, examples: str = "", **kwargs: Any) -> None:
        kwargs.setdefault("context_settings", _SETTINGS)
        super().__init__(*args, **kwargs)
        self.params.extend(global_options())
        self.examples = examples

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples stand before the explanations: most people look for a line to copy."""
        self.format_usage(ctx, formatter)
        _write_examples(formatter, self.examples)
        self.format_help_text(ctx, formatter)
        self.format_options(ctx, formatter)


class LateGroup(click.Group):
    """A group that imports the module of a command only when that command is used.

    ``late`` maps a command's name to ("module:attribute", one line of help).
    """

    def __init__(
        self, *args: Any, late: Mapping[str, tuple[str, str]] | None = None, examples: str = "", **kwargs: Any
    ) -> None:
        kwargs.setdefault("context_settings", _SETTINGS)
        super().__init__(*args, **kwargs)
        self.params.extend(global_options())
        self.late = late or {}
        self.examples = examples

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names, as they are declared."""
        return [*self.late, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a command."""
        if cmd_name not in self.late:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = self.late[cmd_name][0].partition(":")
        found: click.Command = getattr(importlib.import_module(module), attribute)
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, but with a suggestion from the names that are not loaded."""
        name = args[0]
        if name.startswith("-") or ctx.resilient_parsing or self.get_command(ctx, name) is not None:
            return super().resolve_command(ctx, args)
        near = nearest(name, self.list_commands(ctx))
        meant = f"Did you mean {near!r}?" if near else f"Commands: {', '.join(self.list_commands(ctx))}."
        raise click.UsageError(f"No such command {name!r}. {meant}", ctx)

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Examples first."""
        self.format_usage(ctx, formatter)
        _write_examples(formatter, self.examples)
        self.format_help_text(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)
        self.format_epilog(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of commands, without loading them."""
        rows = [(name, text) for name, (_, text) in self.late.items()]
        for name in super().list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                rows.append((name, command.get_short_help_str(80)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)


def nearest(word: str, words: list[str]) -> str | None:
    """The word that was probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - only a mistake needs it

    return next(iter(get_close_matches(word, words, 1, 0.5)), None)
