"""A program that does a command's work in its own process."""

from __future__ import annotations

import subprocess


def pass_through(argv: list[str]) -> int:
    """Let a child have the terminal; an interrupt reaches it too, and it ends in its own way. Its exit status."""
    with subprocess.Popen(argv, close_fds=False) as child:
        while True:
            try:
                status = child.wait()
            except KeyboardInterrupt:
                continue
            return status if status >= 0 else 128 - status
