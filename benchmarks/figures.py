"""A figure: the same thing measured on several contestants in one run, and what it should be."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.rig import load


@dataclass(frozen=True, slots=True)
class Target:
    """At most ``limit``, by the named statistic of genesisd's samples."""

    limit: float
    by: str = "p50"


class Figure:
    """Samples by contestant. The load average is read when the figure begins and when it ends.

    Args:
        what: in words.
        unit: of the samples.
        targets: what genesisd should reach.
        shows: statistics that the table shows.
        digits: after the point.
    """

    def __init__(
        self, what: str, unit: str, *targets: Target, shows: Sequence[str] = ("p50", "max"), digits: int = 1
    ) -> None:
        self.what = what
        self.unit = unit
        self.targets = targets
        self.shows = tuple(dict.fromkeys([*(target.by for target in targets), *shows]))
        self.digits = digits
        self.samples: dict[str, list[float]] = {}
        self._load = [load()]

    def add(self, label: str, *values: float) -> None:
        """More samples of one contestant."""
        self.samples.setdefault(label, []).extend(values)
        self._load[1:] = [load()]

    def statistic(self, label: str, by: str) -> float:
        """``p50``, ``p99``, ``max`` and so on of a contestant's samples."""
        return statistic(self.samples[label], by)

    def cell(self, label: str) -> str:
        """The statistics in the table."""
        if label not in self.samples:
            return "-"
        values = self.samples[label]
        shows = self.shows if len(values) > 1 else self.shows[:1]
        return " / ".join(f"{statistic(values, by):.{self.digits}f}" for by in shows)

    def verdict(self) -> str:
        """Each target with whether it was met; empty without one."""
        told = []
        for target in self.targets:
            met = self.statistic("genesisd", target.by) <= target.limit
            told.append(f"{target.by} ≤ {target.limit:g} {'yes' if met else '**no**'}")
        return ", ".join(told)

    def ratio(self, label: str) -> str:
        """How many times genesisd's median another's is."""
        own, other = self.statistic("genesisd", "p50"), self.statistic(label, "p50")
        return f" (x{other / own:.2g})" if own > 0 and label != "genesisd" else ""

    @property
    def load(self) -> str:
        """Load average at the beginning and the end."""
        return " → ".join(f"{one:.1f}" for one in self._load)

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {
            "what": self.what,
            "unit": self.unit,
            "targets": [{"by": target.by, "limit": target.limit} for target in self.targets],
            "load": self._load,
            "contestants": {
                label: {by: statistic(values, by) for by in ("p50", "p99", "max", "min")} | {"n": len(values)}
                for label, values in self.samples.items()
            },
        }


def statistic(values: Iterable[float], by: str) -> float:
    """``p50``, ``p99``, ``min`` or ``max``."""
    ordered = sorted(values)
    match by:
        case "p50":
            return median(ordered)
        case "min":
            return ordered[0]
        case "max":
            return ordered[-1]
    rank = math.ceil(int(by.removeprefix("p")) / 100 * len(ordered))
    return ordered[max(rank, 1) - 1]


def table(figures: Sequence[Figure]) -> str:
    """Markdown: a row a figure, a column a contestant."""
    labels = list(dict.fromkeys(label for figure in figures for label in figure.samples))
    labels.sort(key=lambda label: label != "genesisd")
    head = ["what", "unit", *labels, "target", "n", "load"]
    rows = [head, ["---"] * len(head)]
    for figure in figures:
        cells = [figure.cell(label) + (figure.ratio(label) if label in figure.samples else "") for label in labels]
        shown = f"{figure.what}; {' / '.join(figure.shows)}"
        counts = str(len(figure.samples.get("genesisd", ())))
        rows.append([shown, figure.unit, *cells, figure.verdict(), counts, figure.load])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def lines(figures: Sequence[Figure]) -> str:
    """For a terminal: a block a figure."""
    told = []
    for figure in figures:
        told.append(
            f"{figure.what} [{figure.unit}; {' / '.join(figure.shows)}]  load {figure.load}  {figure.verdict()}"
        )
        told += [f"    {label:<28} {figure.cell(label)}{figure.ratio(label)}" for label in figure.samples]
    return "\n".join(told) + "\n"


Figures = list[Figure]
