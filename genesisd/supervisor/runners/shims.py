"""Starting a shim, and knowing whether one is there."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import sys
from collections.abc import Callable
from pathlib import Path

from genesisd.supervisor.ports import SpawnError
from genesisd.supervisor.runners.exits import file_tail
from genesisd.supervisor.runners.paths import WorkerPaths

SHIM = Path(__file__).parent.parent / "shim.py"
EXIT_LOCKED = 75
BOOT = (
    "import sys; from _frozen_importlib_external import SourceFileLoader; del sys.argv[0]; "
    "exec(SourceFileLoader('__main__', sys.argv[0]).get_code('__main__'))"
)
"""Runs the file that follows from its compiled form, as an import would: a script given by path is compiled each time,
which is a third of a shim's start."""
START_SECONDS = 20.0
ENVIRONMENT = {"LANG": "C.UTF-8", "LC_CTYPE": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin"}
"""Nothing of the daemon's: a shim outlives it."""


def lock_is_held(path: Path) -> bool:
    """Whether a shim lives, even one that does not listen yet."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False


class ShimStarter:
    """Starts shims and collects those that end while this daemon is their parent."""

    def __init__(self, python: str = sys.executable, shim: Path = SHIM) -> None:
        self._argv = [python, "-I", "-S", "-c", BOOT, str(shim)]
        self._watched: set[int] = set()

    async def start(self, paths: WorkerPaths) -> bool:
        """Start one and wait until it listens. False: another holds the lock. Raises SpawnError."""
        paths.make()
        reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            ended = self._spawn(paths, writer)
        except OSError as error:
            os.close(reader)
            raise SpawnError(f"the shim of {paths.worker} cannot be started: {error}", cause="shim") from error
        finally:
            os.close(writer)
        word = await _first_word(reader)
        if word is not None and word.startswith(b"ready"):
            return True
        status = None
        if word == b"":
            async with asyncio.timeout(START_SECONDS):
                status = await ended
        if status == EXIT_LOCKED:
            return False
        raise SpawnError(
            f"the shim of {paths.worker} did not start ({_in_words(status)}): {_last_words(paths)}",
            cause="shim",
            hint=f"see {paths.log.with_name('shim.log')}",
        )

    def close(self) -> None:
        """Watch no longer; the shims live on."""
        for fd in list(self._watched):
            self._unwatch(fd)

    def _spawn(self, paths: WorkerPaths, ready: int) -> asyncio.Future[int]:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        pid = os.posix_spawn(
            self._argv[0],
            [*self._argv, paths.worker, str(paths.folder), str(paths.socket), str(paths.lock)],
            ENVIRONMENT,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, ready, 1),
                (os.POSIX_SPAWN_OPEN, 2, str(paths.log.with_name("shim.log")), flags, 0o640),
            ],
            setsid=True,
            setsigmask=[],
        )
        return self._watch(pid)

    def _watch(self, pid: int) -> asyncio.Future[int]:
        """Reap it by its pidfd: a thread a child would cost more than the child."""
        loop = asyncio.get_running_loop()
        ended: asyncio.Future[int] = loop.create_future()
        fd = os.pidfd_open(pid)

        def reap() -> None:
            self._unwatch(fd)
            with contextlib.suppress(ChildProcessError):
                status = os.waitstatus_to_exitcode(os.waitpid(pid, os.WNOHANG)[1])
                if not ended.done():
                    ended.set_result(status)

        self._watched.add(fd)
        loop.add_reader(fd, reap)
        return ended

    def _unwatch(self, fd: int) -> None:
        self._watched.discard(fd)
        asyncio.get_running_loop().remove_reader(fd)
        os.close(fd)


async def _first_word(reader: int) -> bytes | None:
    """What the shim says first; nothing when it ended, None when it said nothing in time."""
    readable = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(reader, readable.set)
    try:
        async with asyncio.timeout(START_SECONDS):
            await readable.wait()
        return os.read(reader, 64)
    except TimeoutError:
        return None
    finally:
        loop.remove_reader(reader)
        os.close(reader)


async def until_true(look: Callable[[], bool], seconds: float) -> bool:
    """Ask again every few milliseconds until it is so or the time is over."""
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while not look():
        if loop.time() >= end:
            return False
        await asyncio.sleep(0.005)
    return True


def _in_words(status: int | None) -> str:
    return f"no sign of life in {START_SECONDS:g} s" if status is None else f"exit status {status}"


def _last_words(paths: WorkerPaths) -> str:
    lines = file_tail(paths.log.with_name("shim.log"), 4096)
    return lines[-1] if lines else "it said nothing"
