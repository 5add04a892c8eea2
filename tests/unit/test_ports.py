"""The ports that tests are given: enough for each daemon, and none twice."""

from __future__ import annotations

from tests.helpers.ports import FEW, RANGES, free_port, port_range


def ports_of(workers: int) -> set[int]:
    first, _, last = port_range(workers).partition("-")
    return {*range(int(first), int(last) + 1)}


def test_a_daemon_has_ports_for_all_its_workers_and_their_next_lives():
    """Of few and of many; the last number that counts as few too."""
    assert all(len(ports_of(count)) >= 2 * count for count in (1, FEW, FEW + 1, 100, 200))


def test_no_port_is_in_two_ranges():
    """Daemons that run at once, one of them with many workers, and what tests bind themselves."""
    ranges = [*(ports_of(1) for _ in range(RANGES)), ports_of(100), {free_port() for _ in range(20)}]
    assert sum(map(len, ranges)) == len(set[int]().union(*ranges))
