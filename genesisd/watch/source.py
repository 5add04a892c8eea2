"""The bytes of a watchlist, and where in them each character stands. Pure."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_right
from dataclasses import dataclass

from genesisd.errors import ConfigError

MAX_BYTES = 4 << 20
STEP = 256
"""Characters between two whose bytes are counted beforehand: a list that a program wrote may be one line of megabytes."""
MARK = "\ufeff"
"""Of byte order, at the beginning of a file; elsewhere a character that no editor shows."""
_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a part stands: line and column as editors count them (from 1, in characters), and its bytes."""

    line: int
    column: int
    start: int
    end: int
    last_line: int


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong: where, in which field, what was found, what was expected, how to mend it."""

    place: Place
    problem: str
    field: str | None = None
    expected: str | None = None
    hint: str | None = None


class Source:
    """The text of one file. A byte-order mark is no part of it, but keeps its bytes.

    Raises:
        ConfigError: larger than MAX_BYTES, or not UTF-8.
    """

    def __init__(self, raw: bytes, file: str) -> None:
        self.raw = raw
        self.file = file
        self._offset = len(codecs.BOM_UTF8) if raw.startswith(codecs.BOM_UTF8) else 0
        if len(raw) > MAX_BYTES:  # said before the text is read: a reader that stops there may halve a character
            self.text = ""
            self._index()
            raise self.fault(self.place(0, 0), f"larger than {MAX_BYTES >> 20} MiB")
        try:
            self.text = raw[self._offset :].decode()
        except UnicodeDecodeError as error:
            self.text = raw[self._offset : self._offset + error.start].decode()
            self._index()
            end = len(self.text)
            raise self.fault(self.place(end, end), "not UTF-8 text", hint="save the file as UTF-8") from error
        self._index()
        if self.text.startswith(MARK):  # libyaml passes over it without counting it: every place would be wrong
            raise self.fault(self.place(0, 0), "a second byte-order mark", hint="save the file with one, or none")

    def _index(self) -> None:
        self._chars = [0, *(found.end() for found in _BREAK.finditer(self.text))]
        self._steps = [self._offset]
        for start in range(0, len(self.text), STEP):
            self._steps.append(self._steps[-1] + len(self.text[start : start + STEP].encode()))
        self._bytes = [self._byte(char) for char in self._chars]

    def place(self, start: int, end: int) -> Place:
        """The place of the characters from ``start`` to ``end``."""
        row, last = self._row(start), self._row(end)
        return Place(row + 1, start - self._chars[row] + 1, self._byte(start), self._byte(end), last + 1)

    def _row(self, char: int) -> int:
        return bisect_right(self._chars, char) - 1

    def _byte(self, char: int) -> int:
        step = char // STEP
        return self._steps[step] + len(self.text[step * STEP : char].encode())

    def end(self) -> Place:
        """Behind the last character."""
        return self.place(len(self.text), len(self.text))

    def at(self, byte: int) -> Place:
        """The place of a byte that begins a character."""
        row = bisect_right(self._bytes, byte) - 1
        char = self._chars[row] + len(self.raw[self._bytes[row] : byte].decode(errors="ignore"))
        return self.place(char, char)

    def line_start(self, line: int) -> int:
        """The first byte of a line (from 1), or the end of the file for a line behind the last."""
        return self._bytes[line - 1] if line <= len(self._bytes) else len(self.raw)

    def fault(
        self,
        place: Place,
        problem: str,
        *,
        field: str | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> ConfigError:
        """The error that tells of one fault."""
        return self.faults([Fault(place, problem, field, expected, hint)])

    def faults(self, found: list[Fault]) -> ConfigError:
        """The error that tells of all faults, first the one that stands first.

        ``fields`` holds file, line, column, field and expected of that one, and ``problems`` the same of each.
        """
        ordered = sorted(found, key=lambda one: one.place.start)
        first = ordered[0]
        return ConfigError(
            "\n".join(self._sentence(one) for one in ordered),
            hint=first.hint,
            file=self.file,
            line=first.place.line,
            column=first.place.column,
            field=first.field,
            expected=first.expected,
            problems=[_wire(one) for one in ordered],
        )

    def _sentence(self, fault: Fault) -> str:
        field = f"{fault.field}: " if fault.field else ""
        expected = f"; expected {fault.expected}" if fault.expected else ""
        mend = f" ({fault.hint})" if fault.hint else ""
        return f"{self.file}:{fault.place.line}:{fault.place.column}: {field}{fault.problem}{expected}{mend}"


def _wire(fault: Fault) -> dict[str, object]:
    return {
        "line": fault.place.line,
        "column": fault.place.column,
        "field": fault.field,
        "problem": fault.problem,
        "expected": fault.expected,
        "hint": fault.hint,
    }
