"""Exit statuses are part of the contract."""

from __future__ import annotations

import pytest

from genesisd.cli.exits import exit_status
from genesisd.control.protocol import HTTP_STATUS


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("error", 1),
        ("config", 1),
        ("not_found", 1),
        ("protocol", 1),
        ("unavailable", 1),
        ("from-a-newer-daemon", 1),
        ("usage", 2),
        ("not_running", 3),
        ("timeout", 4),
        ("conflict", 5),
        ("permission", 6),
    ],
)
def test_exit_status(code, status) -> None:
    """Each code of the wire has its status, and codes of the future are failures."""
    assert exit_status(code) == status


def test_every_code_of_the_wire_is_an_error() -> None:
    """No refusal looks like success."""
    assert all(exit_status(code) > 0 for code in HTTP_STATUS)
    assert all(400 <= status < 600 for status in HTTP_STATUS.values())
