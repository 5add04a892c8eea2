"""sd_notify: tells systemd what the daemon is doing, without a library.

Nothing here raises: a supervisor that died because systemd's socket was full would be the worse fault. What was
lost shows in ``lost``. The environment is read once and then cleared, so that no child can speak as the daemon.
"""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import MutableMapping

_SEND_TIMEOUT = 0.1
"""Seconds that a full socket may hold the event loop."""


class Notifier:
    """A line to systemd, or a dead end where there is none.

    Args:
        address: value of NOTIFY_SOCKET (a path, or ``@name`` for an abstract socket), or None.
        watchdog: seconds after which systemd kills a silent daemon, or None.

    Attributes:
        lost: messages that could not be sent.
    """

    def __init__(self, address: str | None = None, watchdog: float | None = None) -> None:
        self.lost = 0
        self._watchdog = watchdog
        self._target = _target(address)

    @classmethod
    def from_environment(cls, environ: MutableMapping[str, str] | None = None) -> Self:
        """Read and remove NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID."""
        env = os.environ if environ is None else environ
        address = env.pop("NOTIFY_SOCKET", None)
        microseconds, pid = env.pop("WATCHDOG_USEC", ""), env.pop("WATCHDOG_PID", "")
        meant_for_us = not pid or pid == str(os.getpid())
        armed = meant_for_us and microseconds.isdecimal() and int(microseconds) > 0
        return cls(address, int(microseconds) / 1e6 if armed else None)

    @property
    def enabled(self) -> bool:
        """Whether anybody listens."""
        return self._target is not None

    @property
    def watchdog_interval(self) -> float | None:
        """Seconds between two ``ping`` calls, half of what systemd allows; None: no watchdog."""
        return None if self._watchdog is None or self._target is None else self._watchdog / 2

    def ready(self, text: str | None = None) -> None:
        """The start (or a reload) is complete."""
        self._send("READY=1", *_status(text))

    def status(self, text: str) -> None:
        """One line for ``systemctl status``."""
        self._send(*_status(text))

    def reloading(self) -> None:
        """A reload has begun; ``ready`` ends it."""
        self._send("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self, text: str | None = None) -> None:
        """The shutdown has begun."""
        self._send("STOPPING=1", *_status(text))

    def ping(self) -> None:
        """The event loop is alive; call it every ``watchdog_interval`` seconds from the loop itself."""
        self._send("WATCHDOG=1")

    def extend_timeout(self, seconds: float) -> None:
        """Ask for that long, from now, before the start or stop counts as timed out."""
        self._send(f"EXTEND_TIMEOUT_USEC={max(1, int(seconds * 1e6))}")

    def main_pid(self, pid: int) -> None:
        """Another process is the main one from now on."""
        self._send(f"MAINPID={pid}")

    def _send(self, *lines: str) -> None:
        if self._target is None:
            return
        try:
            # A socket per message: systemd may have re-executed, and one that is kept would be its old one.
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as line:
                line.settimeout(_SEND_TIMEOUT)
                line.sendto("\n".join(lines).encode(), self._target)
        except OSError:
            self.lost += 1


def _target(address: str | None) -> str | bytes | None:
    if not address:
        return None
    if address.startswith("@"):
        return b"\0" + os.fsencode(address[1:])
    return address if address.startswith("/") else None


def _status(text: str | None) -> tuple[str, ...]:
    # A line break would end the field and let the rest be read as another one.
    return () if text is None else ("STATUS=" + " ".join(text.split()),)
