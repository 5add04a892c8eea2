"""Changes of a file by the byte, each proven before anyone sees it. Pure.

A change is a few splices, and all bytes between them stay what they were. Whether the splices mean what they should is
not argued but looked at: the changed text is read again, and must say what it said before but for the one thing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genesisd.errors import ConfigError, ConflictError
from genesisd.watch.layout import Layout, lay_out
from genesisd.watch.parts import Listing, Mapping, Part, Scalar
from genesisd.watch.rows import Row, WatchRow, row_id
from genesisd.watch.source import Place

BREAK = re.compile(rb"\r\n|\r|\n|\xc2\x85|\xe2\x80[\xa8\xa9]")
"""What ends a line for YAML, which is more than for most editors."""


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes from ``start`` to ``end`` give way to ``text``."""

    start: int
    end: int
    text: bytes


@dataclass(frozen=True, slots=True)
class Target:
    """A row that is to be changed, in the file as it stands."""

    layout: Layout
    section: str
    listing: Listing
    index: int
    part: Mapping

    @property
    def raw(self) -> bytes:
        """The file's bytes."""
        return self.layout.source.raw

    def said(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the file says, and within it what the row says: to be changed into what it is to say."""
        whole = self.layout.said()
        return whole, whole[self.section][self.index]


def target(text: bytes, row: Row, file: str) -> Target:
    """The place of ``row`` in ``text``.

    Raises:
        ConfigError: ``text`` cannot be read.
        ConflictError: another row stands there, since the file was changed meanwhile.
    """
    layout = lay_out(text, file)
    section = "watch" if isinstance(row, WatchRow) else "sweep"
    rows = layout.rows.watch if isinstance(row, WatchRow) else layout.rows.sweep
    listing = layout.section(section)
    if listing is not None and row.index < len(rows) and rows[row.index].upstream == row.upstream:
        part = listing.items[row.index]
        if isinstance(part, Mapping):
            return Target(layout, section, listing, row.index, part)
    problem = f"{file}: {row_id(row)} is not row {row.index} of {section} any more"
    raise ConflictError(problem, hint="read the file again", file=file, row=row_id(row))


def proven(layout: Layout, splices: Sequence[Splice], expected: dict[str, Any]) -> bytes:
    """The file with ``splices`` made.

    Raises:
        ConfigError: the result would not be a watchlist.
        UnprovenError: it would be one that says something else than ``expected``.
    """
    after = spliced(layout.source.raw, splices)
    if lay_out(after, layout.source.file).said() != expected:
        raise _unproven(layout, splices)
    return after


class UnprovenError(ConfigError):
    """A change that would say something else than it should."""


def _unproven(layout: Layout, splices: Sequence[Splice]) -> UnprovenError:
    at = layout.source.at(min(splice.start for splice in splices))
    told = layout.source.fault(at, "the change would reach other parts of the file", hint="change it by hand")
    return UnprovenError(told.message, hint=told.hint, **told.fields)


def by_hand(layout: Layout, place: Place, field: str, problem: str) -> ConfigError:
    """The error for what is written in a way that only its author can change well."""
    return layout.source.fault(place, problem, field=field, expected="a row in block style", hint="change it by hand")


def spliced(raw: bytes, splices: Sequence[Splice]) -> bytes:
    """``raw`` with all made; they may touch but not overlap."""
    parts: list[bytes] = []
    done = 0
    for splice in sorted(splices, key=lambda one: (one.start, one.end)):
        parts += raw[done : splice.start], splice.text
        done = splice.end
    return b"".join((*parts, raw[done:]))


def line_end(raw: bytes, at: int) -> int:
    """Where the line that holds ``at`` ends, before its break."""
    found = BREAK.search(raw, at)
    return found.start() if found else len(raw)


def next_line(raw: bytes, at: int) -> int:
    """Where the line after ``at`` begins; ``at`` itself where it is behind a break."""
    if at and raw[at - 1 : at] in {b"\n", b"\r"}:
        return at
    found = BREAK.search(raw, at)
    return found.end() if found else len(raw)


def newline(raw: bytes) -> bytes:
    """The line break that the file uses."""
    found = re.search(rb"\r\n|\n|\r", raw)
    return found[0] if found else b"\n"


def content_end(raw: bytes, part: Part) -> int:
    """Where the last byte of a part stands, without the blank lines and comments that libyaml counts in."""
    if isinstance(part, Scalar):
        return _scalar_end(raw, part)
    if part.flow:
        return part.place.end
    if isinstance(part, Listing):
        return max((content_end(raw, item) for item in part.items), default=part.place.start)
    return max(pair_end(raw, key, value) for key, value in part.pairs)


def pair_end(raw: bytes, key: Scalar, value: Part) -> int:
    """Where a field ends. A value that is not there has its mark wherever the parser found out."""
    if isinstance(value, Scalar) and value.place.start == value.place.end:
        return key.place.end
    return content_end(raw, value)


def _scalar_end(raw: bytes, scalar: Scalar) -> int:
    if not scalar.is_block:
        return scalar.place.end
    written = raw[scalar.place.start : scalar.place.end]
    keeps = b"+" in (re.match(rb"[|>][-+0-9]*", written) or [b""])[0]
    return scalar.place.end if keeps else scalar.place.start + len(written.rstrip())
