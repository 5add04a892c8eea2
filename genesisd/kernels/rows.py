"""What the tables and sweeps of all operations look like. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

COMPARED = ("floor us", "upstream us", "ours us", "times faster", "of the floor")
"""What stands above the cells of `compared`."""


class Times(Protocol):
    """What was measured of a case, in microseconds."""

    @property
    def floor_us(self) -> float:
        """The least that the device allows."""

    @property
    def ours_us(self) -> float:
        """Our kernel."""

    @property
    def upstream_us(self) -> float | None:
        """The engine's, if there was a tree."""


class Errors(Protocol):
    """How far two outputs were from the reference; None where it was too large to compute."""

    @property
    def error(self) -> float | None:
        """Ours."""

    @property
    def upstream_error(self) -> float | None:
        """The engine's: there is one where there is ours."""


@dataclass(frozen=True)
class Cut:
    """One cut of a sweep."""

    words: str
    us: float
    wrong: str = ""
    """What else is to be said of it."""


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def header(*names: str) -> str:
    """The first two lines of a table."""
    return f"{row(*names)}\n{row(*['---'] * len(names))}"


def compared(found: Times, *, digits: int = 1) -> tuple[str, ...]:
    """Five cells, as `COMPARED` names them; ``digits`` are those of the floor."""
    them = faster = ""
    if found.upstream_us is not None:
        them, faster = f"{found.upstream_us:.1f}", f"x{found.upstream_us / found.ours_us:.1f}"
    share = found.floor_us / found.ours_us
    return f"{found.floor_us:.{digits}f}", them, f"{found.ours_us:.1f}", faster, f"{share:.1%}"


def errors(found: Errors) -> str:
    """The cell of both errors."""
    return "" if found.error is None else f"{found.error:.1e}, {found.upstream_error:.1e}"


def sweep(name: str, floor_us: float, cuts: Iterable[Cut]) -> Iterator[str]:
    """A line a cut, as they are timed; the first one is the plan's own."""
    for number, cut in enumerate(cuts):
        mark = " (the plan)" if number == 0 else ""
        yield f"{name}: {cut.words}{mark}: {cut.us:.1f} us, {floor_us / cut.us:.1%}{cut.wrong}"
