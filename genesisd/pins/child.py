"""Run one child to its end, and never leave it behind.

The child has its own session, so that Ctrl-C on a terminal reaches the builder alone, which then ends the
child in order. Should the builder die without a chance to do so, the kernel ends the child.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
from collections import deque
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

GRACE = 5.0
_KEPT_LINES = 4000
_TICK = 1.0
_PR_SET_PDEATHSIG = 1
_ENDING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Ended:
    """Exit status (negative: the signal) and the last lines of output, stderr included."""

    code: int
    lines: tuple[str, ...]


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    keep_fd: int | None = None,
    on_line: Callable[[str], None] = lambda _: None,
    on_tick: Callable[[], None] = lambda: None,
) -> Ended:
    """Run ``argv``; ``keep_fd`` stays open in it. ``on_tick`` is called about once a second meanwhile."""
    lines: deque[str] = deque(maxlen=_KEPT_LINES)
    # No signal handler may run while forking: what it raises is lost in Python's fork hooks, or loses the child.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        child = _start(argv, env, keep_fd, before)
    except BaseException:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        raise
    try:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        with child.stdout as output:  # type: ignore[union-attr]
            for line in _lines(output, on_tick):
                lines.append(line)
                on_line(line)
        return Ended(child.wait(), tuple(lines))
    except BaseException:
        _end(child)
        raise


def _start(
    argv: Sequence[str], env: Mapping[str, str], keep_fd: int | None, mask: set[int | signal.Signals]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=() if keep_fd is None else (keep_fd,),
        preexec_fn=_prepare(os.getpid(), mask),  # noqa: PLW1509 - the builder has no other threads
    )


def _prepare(parent: int, mask: set[int | signal.Signals]) -> Callable[[], None]:
    def in_child() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before the line above
            os._exit(127)

    return in_child


def _lines(output: IO[bytes], on_tick: Callable[[], None]) -> Iterator[str]:
    rest = b""
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while True:
            if not selector.select(_TICK):
                on_tick()
                continue
            chunk = os.read(output.fileno(), 65536)
            if not chunk:
                break
            *whole, rest = (rest + chunk).split(b"\n")
            yield from (line.decode(errors="replace").rstrip() for line in whole)
    if rest:
        yield rest.decode(errors="replace").rstrip()


def _end(child: subprocess.Popen[bytes]) -> None:
    _signal(child, signal.SIGTERM)
    try:
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        pass
    finally:
        # Also after a clean exit: the group may hold children of the child.
        _signal(child, signal.SIGKILL)
        child.wait()


def _signal(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)
