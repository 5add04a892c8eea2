"""Counters, gauges and histograms that remember their text.

prometheus_client's own objects cost about a kilobyte a series and are rendered anew at each scrape; with a hundred
workers that is 10 MB and 60 ms of a blocked loop. Here a series is one entry of a dict, and the text of a family
for one worker is rendered again only when one of its values changed. ``bridge`` shows the same to prometheus_client.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

LabelValues = tuple[str, ...]
SEPARATE = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Kind(StrEnum):
    """What Prometheus calls the type."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Family:
    """One metric name.

    Attributes:
        name: as exported, with the unit and, for counters, ``_total``.
        kind: its type.
        help: one sentence.
        labels: names of its labels besides ``worker``.
        per_worker: each worker has its own series, which go when the worker goes.
        buckets: upper bounds of a histogram, ascending, without +Inf.
    """

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    per_worker: bool = True
    buckets: tuple[float, ...] = ()

    def header(self) -> str:
        """The HELP and TYPE lines."""
        text = self.help.replace("\\", r"\\").replace("\n", r"\n")
        return f"# HELP {self.name} {text}\n# TYPE {self.name} {self.kind}\n"


def number(value: float) -> str:
    """As Prometheus reads it."""
    if value == math.inf:
        return "+Inf"
    if value == -math.inf:
        return "-Inf"
    return str(int(value)) if value == value // 1 and abs(value) < 1 << 53 else repr(float(value))


def label_text(names: tuple[str, ...], values: LabelValues) -> str:
    """``{a="b"}``, or nothing without labels."""
    inside = ",".join(f'{name}="{value.translate(SEPARATE)}"' for name, value in zip(names, values, strict=True))
    return f"{{{inside}}}" if inside else ""


class Series:
    """The gauges or counters of one family that belong to one worker (or to the daemon)."""

    __slots__ = ("_first", "_names", "_text", "family", "values")

    def __init__(self, family: Family, worker: str | None = None) -> None:
        self.family = family
        self._first: LabelValues = () if worker is None else (worker,)
        self._names = family.labels if worker is None else ("worker", *family.labels)
        self.values: dict[LabelValues, float] = {}
        self._text: str | None = None

    def set(self, value: float, *labels: str) -> None:
        """The value is this now."""
        if self.values.get(labels) != value:
            self.values[labels] = value
            self._text = None

    def inc(self, *labels: str, by: float = 1.0) -> None:
        """The value grew."""
        self.values[labels] = self.values.get(labels, 0.0) + by
        self._text = None

    def drop(self, *labels: str) -> None:
        """The series exists no more."""
        if self.values.pop(labels, None) is not None:
            self._text = None

    def replace(self, values: Mapping[LabelValues, float]) -> None:
        """These are all the values now; what is not among them exists no more."""
        if self.values != values:
            self.values = dict(values)
            self._text = None

    def samples(self) -> list[tuple[str, tuple[str, ...], LabelValues, float]]:
        """Name, label names, label values and value of each line."""
        return [
            (self.family.name, self._names, (*self._first, *labels), value) for labels, value in self.values.items()
        ]

    def text(self) -> str:
        """The lines, without the header."""
        if self._text is None:
            self._text = "".join(
                f"{name}{label_text(names, values)} {number(value)}\n" for name, names, values, value in self.samples()
            )
        return self._text


class Histogram(Series):
    """A histogram without labels of its own: buckets, sum and count."""

    __slots__ = ("_counts", "_sum")

    def __init__(self, family: Family, worker: str | None = None) -> None:
        super().__init__(family, worker)
        self._counts = [0] * (len(family.buckets) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        """One more of ``value``."""
        self._counts[bisect_left(self.family.buckets, value)] += 1
        self._sum += value
        self._text = None

    def samples(self) -> list[tuple[str, tuple[str, ...], LabelValues, float]]:
        """Buckets are cumulative, as Prometheus wants them."""
        name, names, first = self.family.name, self._names, self._first
        lines: list[tuple[str, tuple[str, ...], LabelValues, float]] = []
        total = 0
        for bound, count in zip((*self.family.buckets, math.inf), self._counts, strict=True):
            total += count
            lines.append((f"{name}_bucket", (*names, "le"), (*first, number(bound)), total))
        return [*lines, (f"{name}_sum", names, first, self._sum), (f"{name}_count", names, first, total)]
