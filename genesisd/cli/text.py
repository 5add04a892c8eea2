"""Turns values into text for people. Pure, so that every table can be a golden file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SGR = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "dim": "2", "bold": "1"}
_PHASE_COLOUR = {
    "ready": "green",
    "failed": "red",
    "degraded": "yellow",
    "blocked": "yellow",
    "backoff": "yellow",
    "stopped": "dim",
}


class Cell(NamedTuple):
    """Text, and the colour in which a terminal shows it."""

    text: str
    colour: str | None = None


def clean(text: str) -> str:
    """``text`` without control characters: a worker's own words must not steer the terminal."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def paint(text: str, colour: str | None, *, on: bool) -> str:
    """``text`` in a colour, if colours are ``on``."""
    return f"\x1b[{_SGR[colour]}m{text}\x1b[0m" if on and colour and text else text


def phase_cell(phase: str, *, wanted: bool = True) -> Cell:
    """A phase, coloured by how good it is; the phases between are blue."""
    return Cell(phase, "dim" if not wanted and phase == "stopped" else _PHASE_COLOUR.get(phase, "blue"))


def duration(seconds: float | None) -> str:
    """``3s``, ``4m05s``, ``1h02m``, ``3d4h``; a dash for nothing."""
    if seconds is None:
        return "-"
    whole = int(seconds)
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d{hour}h"
    if hours:
        return f"{hours}h{minute:02}m"
    return f"{minutes}m{second:02}s" if minutes else f"{whole}s"


def table(head: Sequence[str], rows: Sequence[Sequence[Cell]], *, width: int | None, colour: bool) -> str:
    """Rows in columns. Where ``width`` is too small, the widest columns give way; None is endless."""
    cells = [[Cell(name, "bold") for name in head], *([Cell(clean(c.text) or "-", c.colour) for c in r] for r in rows)]
    widths = _fit([max(_cells_wide(row[i].text) for row in cells) for i in range(len(head))], width)
    return "".join(_line(row, widths, colour=colour) + "\n" for row in cells)


def _line(row: Sequence[Cell], widths: Sequence[int], *, colour: bool) -> str:
    last = len(row) - 1
    parts = []
    for index, (cell, room) in enumerate(zip(row, widths, strict=True)):
        text = _cut(cell.text, room)
        pad = "" if index == last else " " * (room - _cells_wide(text))
        parts.append(paint(text, cell.colour, on=colour) + pad)
    return "  ".join(parts)


def _fit(widths: list[int], width: int | None) -> list[int]:
    """Take columns off the widest until the line fits; below eight cells a column stays."""
    if width is None:
        return widths
    spare = sum(widths) + 2 * (len(widths) - 1) - width
    while spare > 0 and max(widths) > 8:
        widest = widths.index(max(widths))
        widths[widest] -= 1
        spare -= 1
    return widths


def _cut(text: str, room: int) -> str:
    if _cells_wide(text) <= room:
        return text
    while text and _cells_wide(text) > room - 1:
        text = text[:-1]
    return text + "…"


def _cells_wide(text: str) -> int:
    """Cells that a terminal uses: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width  # noqa: PLC0415 - rare, and costs start-up time

    return sum(0 if combining(c) else 1 + (east_asian_width(c) in "WF") for c in text)
