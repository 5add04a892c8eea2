"""Exit statuses, in one table. Scripts rely on them; see docs/cli.md."""

from __future__ import annotations

OK = 0
FAILED = 1
USAGE = 2
UNHEALTHY = 3
TIMEOUT = 4
CONFLICT = 5
PERMISSION = 6
FOUND = 10
"""A check looked and found something; single checks may use the numbers above it for kinds of findings."""
INTERRUPTED = 130
BROKEN_PIPE = 141

BY_CODE = {
    "usage": USAGE,
    "not_running": UNHEALTHY,
    "timeout": TIMEOUT,
    "conflict": CONFLICT,
    "permission": PERMISSION,
}
"""Exit status by error code; a code that is not listed is a plain failure."""


def exit_status(code: str) -> int:
    """The exit status for an error code."""
    return BY_CODE.get(code, FAILED)
