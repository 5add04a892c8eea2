"""Pages that more than one command writes: each command has what lies between its own marks, and touches nothing else."""

from __future__ import annotations

from pathlib import Path

MARKS = ("<!-- written by benchmarks -->", "<!-- end of what benchmarks wrote -->")


class MarksLostError(Exception):
    """A page is there in which nobody can tell what is ours: writing it would drop what others wrote."""


def replaced(page: str, text: str) -> str:
    """The page with ``text`` in the place of what stood between the marks; an empty one becomes ours with marks.

    Raises MarksLostError where a page that says something has not each mark once, in this order.
    """
    ours = f"{MARKS[0]}\n{text.strip()}\n{MARKS[1]}\n"
    if not page.strip():
        return ours
    before, begun, rest = page.partition(MARKS[0])
    _, ended, after = rest.partition(MARKS[1])
    if not (begun and ended) or any(page.count(mark) != 1 for mark in MARKS):
        raise MarksLostError(f"expected {MARKS[0]!r} and after it {MARKS[1]!r}, once each, around what is written anew")
    return before + ours + after.removeprefix("\n")


def ready(path: Path) -> None:
    """Raises MarksLostError where ``write`` would: known before a measurement of minutes, not after it."""
    replaced(_read(path), "")


def write(path: Path, text: str) -> None:
    """Put ``text`` between the page's marks."""
    path.write_text(replaced(_read(path), text))


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
