"""Whether a series that is noisy, bound to itself and full of steps keeps growing. Pure.

The series is cut into blocks of equal count, each stands for its lowest value, and the growth from block to block is
looked at. The bound on the typical growth is an order statistic of these (the sign test): of n growths one may lie
below it, and n is chosen so that chance does that no more often than the confidence leaves room for. A fall that is
greater than the typical growth is no exception but memory that was given back: a sawtooth of which one fall is seen.

Why not a least-squares slope: its error assumes independent noise about a line. Memory is a walk, where each value is the
last one and a bit; there the error comes out far too small, and one step (a graph that is captured, a cache that is
filled) is a slope. The sign test asks nothing but that a growth is as likely to lie above as below the typical one. Noise about a level
makes growths alternate, so long runs are rarer still. In a walk the lowest values of neighbours are bound together a
little, which makes runs more common; ``_SPARE`` is more than that takes. A step is one growth of many, whatever its size.
The lowest value of a block looks below the sawtooth of use.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
"""Seconds, value."""
HOUR = 3600.0
_SPARE = 4
"""How many times rarer than the confidence says chance has to be among fair coins, to be as rare as it says in a walk."""


@dataclass(frozen=True, slots=True)
class Growth:
    """What is sure about a series.

    Attributes:
        rate: lower confidence bound of the typical growth, a second.
        total: from the lowest value of the first block to that of the last.
        span: seconds from the middle of the first block to that of the last.
    """

    rate: float
    total: float
    span: float

    def exceeds(self, hourly: float) -> bool:
        """Whether it surely grows faster, and already has by what an hour may bring.

        Without the second a start that takes ten minutes to fill its small caches would be a leak.
        """
        return self.rate * HOUR > hourly and self.total > hourly


def blocks_needed(confidence: float) -> int:
    """Fewest blocks of which one growth may be an exception: of n fair coins at most one shows tails that rarely."""
    n = 2
    while _SPARE * (n + 1) / 2.0**n > 1 - confidence:
        n += 1
    return n + 1


def growth(points: Sequence[Point], confidence: float) -> Growth | None:
    """The bound, or None where there are fewer points than blocks, or all are of one moment."""
    count = blocks_needed(confidence)
    if len(points) < count:
        return None
    size = len(points) / count
    blocks = [_lowest(points[round(i * size) : round((i + 1) * size)]) for i in range(count)]
    pairs = list(pairwise(blocks))
    if any(after[0] <= before[0] for before, after in pairs):
        return None
    rates = sorted((after[1] - before[1]) / (after[0] - before[0]) for before, after in pairs)
    given_back = rates[0] < -abs(rates[len(rates) // 2])
    return Growth(rates[0 if given_back else 1], blocks[-1][1] - blocks[0][1], blocks[-1][0] - blocks[0][0])


def _lowest(block: Sequence[Point]) -> Point:
    """The lowest value, dated at the block's middle: the minimum's own time would jump about."""
    return sum(at for at, _ in block) / len(block), min(value for _, value in block)
