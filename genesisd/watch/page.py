"""A page of a report, before it has a form: headings, paragraphs, lists and tables of plain text. Pure data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads somewhere."""

    text: str
    to: str


Cell = str | Link


@dataclass(frozen=True, slots=True)
class Heading:
    """``level`` 1 is the page's own."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """One."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list; an item may lead somewhere."""

    items: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equal length under a head."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


Block = Heading | Paragraph | Items | Table
