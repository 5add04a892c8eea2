"""A diff made on texts that it may not have been made against: what they would be, and which hunks found no place. Pure.

A hunk lands where it says, if all its old lines stand there; else at the one place of the file that has them, not too
far off. No line of context is ever left out or bent: a hunk that fits nowhere, or in several places, is told and not
made. Even so a hunk that had to move may have met a twin of its place, so that it is told too.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import accumulate

from genesisd.watch.diffs import FileChange, Hunk

FARTHEST = 1500
"""Lines that a hunk may lie from where it says: the largest files drift by hundreds between two releases."""
_HEADING = re.compile(r"[A-Za-z_$]|[ \t]*(?:class|def|async[ \t]+def)[ \t]")
_HEADING_SHOWN = 80


class Why(StrEnum):
    """Why a hunk was not made."""

    NO_FILE = "no-file"
    FILE_THERE = "file-there"
    """It makes a new file, and another one of that name is there."""
    BINARY = "binary"
    NO_CONTEXT = "no-context"
    """It takes nothing away and shows nothing around: nothing tells whether the place is right."""
    GONE = "gone"
    """Its old lines stand nowhere, or before another hunk's that come first."""
    SEVERAL = "several"
    THERE = "there"
    """They stand nowhere, and the new ones do: somebody made it before."""
    FAR = "far"
    """They stand in one place, too far off."""


@dataclass(frozen=True, slots=True)
class Step:
    """Lines taken out, and others put in their place. ``at`` counts the old text's lines from 0."""

    at: int
    taken: tuple[str, ...]
    put: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Landed:
    """A hunk and where it went: lines from ``at`` of the old text, ``moved`` lines from where it says."""

    path: str
    hunk: Hunk
    at: int
    moved: int = 0

    def steps(self) -> Iterator[Step]:
        """What it changes, without its context."""
        at, taken, put = self.at, list[str](), list[str]()
        for sign, text in (*self.hunk.lines, (" ", "")):
            if sign == "-":
                taken.append(text)
            elif sign == "+":
                put.append(text)
            else:
                if taken or put:
                    yield Step(at, tuple(taken), tuple(put))
                at, taken, put = at + len(taken) + 1, [], []


@dataclass(frozen=True, slots=True)
class Refused:
    """A hunk that was not made; None stands for a file without hunks. ``path`` is that of the old text."""

    path: str
    hunk: Hunk | None
    why: Why


@dataclass(slots=True)
class Replay:
    """What came of a diff.

    Attributes:
        texts: files that changed or are new, by the path that they have afterwards.
        gone: paths that no longer are, those that moved included.
        moves: where files went, by their old path.
        landed, refused: every hunk, once.
    """

    texts: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    moves: dict[str, str] = field(default_factory=dict)
    landed: list[Landed] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)

    def over(self, texts: Mapping[str, str]) -> dict[str, str]:
        """``texts`` as they are afterwards."""
        return {path: text for path, text in texts.items() if path not in self.gone} | self.texts


def replay(changes: Iterable[FileChange], texts: Mapping[str, str]) -> Replay:
    """What ``changes`` make of ``texts``; a file that ``texts`` lacks is not there."""
    done = Replay()
    for change in changes:
        if change.before is None:
            _new(change, texts, done)
        elif change.before in texts:
            _changed(change, change.before, texts[change.before], done)
        else:
            done.refused += [Refused(change.before, hunk, Why.NO_FILE) for hunk in change.hunks or (None,)]
    return done


def lines_of(text: str) -> list[str]:
    """Lines with their ends; only a line feed ends one, as in diffs."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


def _new(change: FileChange, texts: Mapping[str, str], done: Replay) -> None:
    path = change.after or ""
    text = "".join(line for hunk in change.hunks for line in hunk.new)
    if change.binary or texts.get(path, text) != text:
        why = Why.BINARY if change.binary else Why.FILE_THERE
        done.refused += [Refused(path, hunk, why) for hunk in change.hunks or (None,)]
        return
    done.texts[path] = text
    done.landed += [Landed(path, hunk, 0) for hunk in change.hunks]


def _changed(change: FileChange, path: str, text: str, done: Replay) -> None:
    if change.binary:
        done.refused.append(Refused(path, None, Why.BINARY))
    landed: list[Landed] = []
    file = _File(text)
    for hunk in change.hunks:
        found = file.place(hunk, landed[-1].at + len(landed[-1].hunk.old) if landed else 0)
        if isinstance(found, Why):
            done.refused.append(Refused(path, hunk, found))
        else:
            landed.append(Landed(path, hunk, found, found - file.told(hunk)))
    done.landed += landed
    if change.after != path:
        done.gone.add(path)
    if change.after is not None:
        done.texts[change.after] = _made(file.lines, landed)
    if change.after not in {None, path}:
        done.moves[path] = change.after or ""


def _made(lines: list[str], landed: list[Landed]) -> str:
    parts: list[str] = []
    at = 0
    for one in landed:
        parts += [*lines[at : one.at], *one.hunk.new]
        at = one.at + len(one.hunk.old)
    return "".join([*parts, *lines[at:]])


def _shows_itself(hunk: Hunk) -> bool:
    """Whether the new lines tell that it was made: with nothing put, only lines that it brings together do."""
    inked = [sign for sign, text in hunk.lines if text.strip()]
    return "+" in inked or (inked[:1] == [" "] and inked[-1:] == [" "])


class _File:
    """A text in which hunks look for their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = lines_of(text)
        self.starts = [0, *accumulate(map(len, self.lines))]

    def told(self, hunk: Hunk) -> int:
        """Where it says it belongs, counted from 0."""
        return hunk.old_start - 1 if hunk.old else hunk.old_start

    def place(self, hunk: Hunk, first: int) -> int | Why:
        """The line that it begins at, none before ``first``."""
        old, told = hunk.old, self.told(hunk)
        if not old:
            return 0 if not self.lines else Why.NO_CONTEXT
        if told >= first and tuple(self.lines[told : told + len(old)]) == old:
            return told
        found = [at for at in self._found("".join(old)) if at >= first and not self._elsewhere(hunk.heading, at)]
        if not found:
            return Why.THERE if _shows_itself(hunk) and any(True for _ in self._found("".join(hunk.new))) else Why.GONE
        if len(found) > 1:
            return Why.SEVERAL
        return found[0] if abs(found[0] - told) <= FARTHEST else Why.FAR

    def _found(self, wanted: str) -> Iterator[int]:
        at = self.text.find(wanted) if wanted else -1
        while at >= 0:
            line = bisect_right(self.starts, at, 0, len(self.lines)) - 1
            end = at + len(wanted)
            if self.starts[line] == at and (wanted.endswith("\n") or end == len(self.text)):
                yield line
            at = self.text.find(wanted, at + 1)

    def _elsewhere(self, heading: str, at: int) -> bool:
        """Whether the hunk's heading names a place of this file, and not the one around ``at``.

        Git shows the last line before the hunk that begins with a letter, or for files it knows as Python the last
        ``class`` or ``def``. A heading that the file no longer has tells nothing.
        """
        if not heading or not any(map(_Heads(heading), self.lines)):
            return False
        above = [line for line in self.lines[:at] if _HEADING.match(line)]
        outer = next((line for line in reversed(above) if not line[0].isspace()), "")
        return not any(map(_Heads(heading), (outer, *above[-1:])))


class _Heads:
    """Whether a line is what a heading shows of it."""

    def __init__(self, heading: str) -> None:
        self.heading = heading[: _HEADING_SHOWN - 1]

    def __call__(self, line: str) -> bool:
        return line.strip().startswith(self.heading) if self.heading else False
