"""A pull request's diff, read: files, hunks, lines with their ends. Strict, since what is lost here is judged absent.

Unidiff passes over what it does not know (lines beyond the told length of a hunk, combined diffs, pages that are no
diff at all); here each of them is an error, so that half a diff is never taken for a whole one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as ReadHunk
from unidiff.patch import PatchedFile, PatchSet

Sign = Literal[" ", "+", "-"]
_NOWHERE = "/dev/null"
_OLD = frozenset({"a/", "i/", "c/", "o/", "1/"})
_NEW = frozenset({"b/", "w/", "i/", "2/"})
_NO_END = "\\ No newline at end of file"
_ESCAPE = re.compile(r'\\([0-7]{3}|["\\abfnrtv])')
_LETTERS = {"a": 7, "b": 8, "t": 9, "n": 10, "v": 11, "f": 12, "r": 13, '"': 34, "\\": 92}


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place that is changed.

    Attributes:
        old_start, new_start: number of the first line, from 1; with no lines on that side, of the line before.
        lines: sign and text, each with its own end (line feeds, carriage returns); the last of a file may have none.
        heading: what the diff shows behind ``@@``, mostly the enclosing function.
    """

    old_start: int
    new_start: int
    lines: tuple[tuple[Sign, str], ...]
    heading: str = ""

    @property
    def old(self) -> tuple[str, ...]:
        """The lines as they were, ends and all: joined, they stand in the file."""
        return tuple(text for sign, text in self.lines if sign != "+")

    @property
    def new(self) -> tuple[str, ...]:
        """The lines as they are to be."""
        return tuple(text for sign, text in self.lines if sign != "-")


@dataclass(frozen=True, slots=True)
class FileChange:
    """What becomes of one file.

    Attributes:
        before: its path, or None for a new file.
        after: its path, or None where it is removed; another than ``before`` where it moves.
        hunks: in the order of the diff; none for a mere rename, a change of mode or an empty file.
        binary: the diff does not say what changes.
    """

    before: str | None
    after: str | None
    hunks: tuple[Hunk, ...]
    binary: bool = False

    @property
    def path(self) -> str:
        """Where it is afterwards, or was."""
        return self.after or self.before or ""


def read_diff(text: str) -> tuple[FileChange, ...]:
    """The files of a unified diff, git's or not; none for an empty text.

    Raises:
        ValueError: with the number of the line, where it breaks off, contradicts itself or is no diff.
    """
    lines = text.split("\n")
    at = [0]
    try:
        read = list(PatchSet(_counted(text, at)))
    except UnidiffParseError as error:
        raise ValueError(f"line {at[0]} of the diff: {' '.join(str(error).split())[:200]}") from None
    _all_was_read(lines, [hunk for file in read for hunk in file])
    if not read and text.strip():
        raise ValueError(f"line 1 of the diff: expected a unified diff, found {lines[0][:80]!r}")
    if read and read[-1] and not read[-1][-1][-1].value.endswith("\n"):
        raise ValueError(f"line {at[0]} of the diff: it breaks off within the line")
    return tuple(map(_change, read))


def _counted(text: str, at: list[int]) -> Iterator[str]:
    """Lines that end at line feeds alone: a form feed or a lone carriage return is part of a line."""
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        at[0] += 1
        yield text[start:end]
        start = end


def _all_was_read(lines: list[str], hunks: list[ReadHunk]) -> None:
    heads: set[int] = set()
    for hunk in hunks:
        numbers = [line.diff_line_no for line in hunk if line.diff_line_no]
        heads.add(numbers[0] - 1)
        after = lines[numbers[-1]] if numbers[-1] < len(lines) else ""
        if after[:1] in {"+", "-", " "} and not after.startswith(("--- ", "-- ")):
            raise ValueError(f"line {numbers[-1] + 1} of the diff: the hunk is longer than its head tells")
        if after.startswith("\\") and not after.startswith(_NO_END):
            raise ValueError(f"line {numbers[-1] + 1} of the diff: expected {_NO_END!r}, found {after[:80]!r}")
    inside = {line.diff_line_no for hunk in hunks for line in hunk}
    for number, line in enumerate(lines, 1):
        if line.startswith("@@") and number not in heads and number not in inside:
            raise ValueError(f"line {number} of the diff: expected '@@ -a,b +c,d @@', found {line[:80]!r}")


def _change(file: PatchedFile) -> FileChange:
    moved = [line.rstrip("\n") for line in file.patch_info or () if line.startswith(("rename ", "copy "))]
    if len(moved) == 2 and moved[0].startswith("rename from ") and moved[1].startswith("rename to "):
        before, after = (_plain(line.split(" ", 2)[2]) for line in moved)
        return FileChange(before, after, tuple(map(_hunk, file)), file.is_binary_file)
    if moved:
        raise ValueError(f"line {file.diff_line_no} of the diff: expected changes and renames, found {moved[0][:80]!r}")
    before, after = _plain(file.source_file), _plain(file.target_file)
    if (before == _NOWHERE or before[:2] in _OLD) and (after == _NOWHERE or after[:2] in _NEW):
        before, after = (path if path == _NOWHERE else path[2:] for path in (before, after))
    return FileChange(
        before=None if before == _NOWHERE else before,
        after=None if after == _NOWHERE else after,
        hunks=tuple(map(_hunk, file)),
        binary=file.is_binary_file,
    )


def _hunk(hunk: ReadHunk) -> Hunk:
    lines: list[tuple[Sign, str]] = []
    for line in hunk:
        if line.line_type == "\\" and lines:
            sign, text = lines[-1]
            lines[-1] = (sign, text.removesuffix("\n"))
        elif line.line_type in {" ", "+", "-"}:
            lines.append((cast("Sign", line.line_type), line.value))
    return Hunk(hunk.source_start, hunk.target_start, tuple(lines), hunk.section_header.strip())


def _plain(path: str) -> str:
    """A path without git's quotes: bytes outside of ASCII come as octal numbers."""
    if not (path.startswith('"') and path.endswith('"') and len(path) > 1):
        return path
    out, rest = bytearray(), path[1:-1]
    while found := _ESCAPE.search(rest):
        code = found[1]
        out += rest[: found.start()].encode()
        out.append(_LETTERS[code] if code in _LETTERS else int(code, 8) & 255)
        rest = rest[found.end() :]
    return (out + rest.encode()).decode("utf-8", "replace")
