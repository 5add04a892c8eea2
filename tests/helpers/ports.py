"""TCP ports for tests: no two processes that run tests are given the same one, and the kernel gives none of them away.

A port that was free a moment ago and is bound later (by a daemon, an engine, a front) may be taken in between: by
another test of a parallel run, or by any connection whose own port the kernel chose. So each process claims a block
of ports below those that the kernel chooses from, and gives them in turn.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from functools import cache
from itertools import cycle

SINGLE = 100
RANGE = 30
RANGES = 5
BLOCK = SINGLE + RANGES * RANGE
FIRSTS = (*range(10_000, 20_000, BLOCK), *range(21_000, 29_000, BLOCK))
"""Where blocks begin. Left out is the daemon's own default range, which some tests use."""
FEW = 15
"""Workers that a common range is enough for, restarts and reloads included; of more, a daemon has ``WIDE`` ports."""
WIDE = 500
WIDES = tuple(range(29_000, 32_500, WIDE))


def _claim(firsts: Collection[int]) -> int:
    """The first port of a block that is this process's until it ends: the kernel gives the abstract name once."""
    for first in firsts:
        guard = socket.socket(socket.AF_UNIX)
        try:
            guard.bind(f"\0genesisd-test-ports-{first}")
        except OSError:
            guard.close()
        else:
            guard.detach()
            return first
    raise RuntimeError(f"all blocks of ports from {min(firsts)} on are claimed: end other runs of the tests")


_first = _claim(FIRSTS)
_singles: Iterator[int] = cycle(range(_first, _first + SINGLE))
_ranges: Iterator[int] = cycle(range(_first + SINGLE, _first + BLOCK, RANGE))


def free_port() -> int:
    """A port that nobody has now, and that nobody else's test is given."""
    for _ in range(SINGLE):
        port = next(_singles)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"none of the ports {_first} to {_first + SINGLE - 1} is free: what holds them was left behind")


def port_range(workers: int) -> str:
    """A range for one daemon with so many workers, as its configuration says it."""
    first, ports = (next(_ranges), RANGE) if workers <= FEW else (_wide(), WIDE)
    return f"{first}-{first + ports - 1}"


@cache
def _wide() -> int:
    """One for all: daemons of so many workers run one after the other."""
    return _claim(WIDES)
