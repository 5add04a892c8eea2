"""One run of genesisctl: where the daemon is, how to print, and who gets which text."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genesisd.cli.text import Cell, clean, paint, table
from genesisd.control.client import Client, ControlError, default_socket
from genesisd.control.protocol import SCHEMA
from genesisd.errors import GenesisError


class ReaderGoneError(Exception):
    """Whoever read our output has seen enough. No OSError, since click would end us with status 1 for one."""


@dataclass
class Session:
    """The global options, and the two streams: answers go to stdout, everything else to stderr."""

    socket: str | None = None
    json: bool = False
    no_color: bool = False
    quiet: bool = False

    def client(self, timeout: float = 35.0) -> Client:
        """A client for the daemon that is meant."""
        return Client(Path(self.socket) if self.socket else default_socket(), timeout)

    @property
    def colour(self) -> bool:
        """Colour is for terminals, unless somebody does not want it (https://no-color.org)."""
        wanted = not self.no_color and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return wanted and sys.stdout.isatty()

    @property
    def width(self) -> int | None:
        """Columns of the terminal; None, so nothing is cut, where the output goes elsewhere."""
        return shutil.get_terminal_size().columns if sys.stdout.isatty() else None

    def answer(self, text: str) -> None:
        """Print what was asked for."""
        try:
            sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        except BrokenPipeError:
            raise ReaderGoneError from None

    def answer_json(self, told: dict[str, Any]) -> None:
        """Print one JSON document, or one line of a stream."""
        self.answer(json.dumps({"schema": SCHEMA} | told))

    def line(self, text: str) -> None:
        """Print one line of a stream, at once."""
        self.answer(text)
        self.flush()

    def flush(self) -> None:
        """Hand on what was printed."""
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise ReaderGoneError from None

    def table(self, head: Sequence[str], rows: Sequence[Sequence[Cell]]) -> None:
        """Print a table."""
        self.answer(table(head, rows, width=self.width, colour=self.colour))

    def paint(self, text: str, colour: str | None) -> str:
        """``text`` in a colour where colours are on."""
        return paint(text, colour, on=self.colour)

    def note(self, text: str) -> None:
        """Tell a person how it goes."""
        if not self.quiet:
            sys.stderr.write(f"{clean(text)}\n")

    def complain(self, problem: GenesisError) -> None:
        """Say what went wrong and how to mend it; for programs also as JSON on stdout."""
        for line in problem.message.splitlines() or [""]:
            sys.stderr.write(f"genesisctl: {clean(line)}\n")
        if problem.hint:
            sys.stderr.write(f"  hint: {clean(problem.hint)}\n")
        if self.json:
            self.answer(json.dumps({"schema": SCHEMA, "error": error_facts(problem)}, default=str))


def error_facts(problem: GenesisError) -> dict[str, object]:
    """An error as the wire writes it."""
    return {"code": problem.code, "message": problem.message, "hint": problem.hint, "fields": problem.fields}


def usage(message: str, hint: str | None = None) -> ControlError:
    """A mistake on the command line."""
    return ControlError("usage", message, hint=hint)
