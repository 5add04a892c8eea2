"""What genesisd.service runs beside the daemon: ``stop`` (ExecStop) and ``reload`` (ExecReload).

systemd runs ExecStop on restart as well. Draining there would take down what a restart is meant to leave alone, so
the stop hook asks systemd what the pending job is and drains only for a stop.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from genesisd.control.client import Client
from genesisd.errors import GenesisError

if TYPE_CHECKING:
    from collections.abc import Sequence

_ASK_TIMEOUT = 10.0
"""Seconds for systemctl: it answers in milliseconds, or the bus is gone."""


def pending_job(unit: str, listing: str) -> str | None:
    """The job that ``systemctl list-jobs`` shows for the unit (``stop``, ``restart``, ...), or None."""
    for line in listing.splitlines():
        words = line.split()
        if len(words) >= 3 and words[1] == unit:
            return words[2]
    return None


def ask_systemd(unit: str) -> str | None:
    """The unit's pending job; None when there is none. Raises OSError or SubprocessError when nobody answers."""
    argv = ["systemctl", "list-jobs", "--no-legend", "--no-pager", "--full", "--plain"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_TIMEOUT, check=True)
    return pending_job(unit, done.stdout)


def stop(unit: str, pid: int | None, socket: Path) -> int:
    """Drain if this is a stop, and return when the daemon is gone."""
    try:
        job = ask_systemd(unit)
    except (OSError, subprocess.SubprocessError) as error:
        # Leaving workers up is mended by one more command; draining them on a restart is an outage.
        return _say(f"cannot ask systemd why {unit} stops ({error}): the workers are left running", 0)
    if job != "stop":
        return _say(f"the pending job is {job or 'none'}: the workers are left running", 0)
    try:
        with Client(socket) as daemon:
            daemon.shutdown(drain=True)
    except GenesisError as error:
        return _say(f"the daemon did not take the order to drain: {error.message}", 1)
    if pid is not None:
        wait_for(pid)
    return 0


def reload(socket: Path) -> int:
    """Reload and report the verdict."""
    try:
        with Client(socket) as daemon:
            daemon.reload()
    except GenesisError as error:
        return _say(error.message if error.hint is None else f"{error.message}\n{error.hint}", 1)
    return 0


def wait_for(pid: int) -> None:
    """Return when the process is gone; systemd bounds the wait by TimeoutStopSec."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        poll.poll()
    finally:
        os.close(handle)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one hook; the status goes to systemd."""
    parser = argparse.ArgumentParser(prog="genesisd.systemd_hook", description=__doc__)
    hooks = parser.add_subparsers(dest="hook", required=True)
    for name in ("stop", "reload"):
        hook = hooks.add_parser(name)
        hook.add_argument("--socket", type=Path, default=_default_socket())
        if name == "stop":
            hook.add_argument("--unit", required=True)
            # Empty when the main process has gone by itself.
            hook.add_argument("--pid", type=int, nargs="?")
    options = parser.parse_args(argv)
    if options.hook == "stop":
        return stop(options.unit, options.pid, options.socket)
    return reload(options.socket)


def _default_socket() -> Path:
    return Path(os.environ.get("RUNTIME_DIRECTORY", "/run/genesisd").partition(":")[0]) / "control.sock"


def _say(text: str, status: int) -> int:
    print(text, file=sys.stderr)  # noqa: T201 (systemd writes it to the unit's journal)
    return status


if __name__ == "__main__":
    sys.exit(main())
