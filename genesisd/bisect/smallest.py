"""The smallest part of a failing set that fails. Pure.

Nothing is presumed of the answers but that the same set gives the same one: between a set that does not fail and a
larger one that does there is always a step at which it begins to. Where adding a patch never cures (as is usual),
what is found is minimal.
"""

from __future__ import annotations

from collections.abc import Generator

from genesisd.bisect.model import Result
from genesisd.bisect.sets import Field

Step = Generator[frozenset[str], Result, frozenset[str]]


def smallest_failing(field: Field, failing: frozenset[str]) -> Step:
    """A part of ``failing``, which fails itself, that can stand and fails, with nothing in it that need not be."""
    held = field.floor
    within = failing
    blurred = False
    while held == field.floor or (yield held) is not Result.FAILS:
        chain = field.chain(within, held)
        low, high = yield from _begins(chain)
        blurred = blurred or high - low > 1
        held = field.closed(held | (chain[high] - chain[low]))
        within = chain[low]
    return (yield from _pared(field, held)) if blurred else held


def _begins(chain: list[frozenset[str]]) -> Generator[frozenset[str], Result, tuple[int, int]]:
    """Where in the chain it begins to fail: the last that does not, the first that does.

    They are neighbours unless all between them could not be asked.
    """
    low, high = 0, len(chain) - 1
    broken: set[int] = set()
    while between := set(range(low + 1, high)) - broken:
        middle = _nearest(between, low + high)
        match (yield chain[middle]):
            case Result.FAILS:
                high = middle
            case Result.PASSES:
                low = middle
            case Result.BROKEN:
                broken.add(middle)
    return low, high


def _nearest(indices: set[int], twice: int) -> int:
    """Of ``indices`` the one in the middle between two ends with the sum ``twice``; of two the lower."""
    return min(indices, key=lambda index: (abs(2 * index - twice), index))


def _pared(field: Field, failing: frozenset[str]) -> Step:
    """Take out one after the other what it fails without."""
    for name in reversed(field.order):
        if name in failing - field.floor:
            less = failing - field.falling(name, failing)
            if less != field.floor and (yield less) is Result.FAILS:
                failing = less
    return failing
