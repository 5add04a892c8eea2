"""Starts a front process, and ends one that holds the worker's lock without answering."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from genesisd.errors import GenesisError, UnavailableError
from genesisd.front.channel import RefusedError
from genesisd.front.ending import await_end
from genesisd.front.wire import decode
from genesisd.identity import process_ref
from genesisd.process_ref import ProcessRef

READY_WITHIN = 20.0
_READY_FD = 3


@dataclass(frozen=True, slots=True)
class Settings:
    """What a front is started with; all of it can be changed while it runs."""

    host: str
    port: int
    hold: float
    max_held: int

    def message(self) -> dict[str, Any]:
        """The order that brings a front to these settings."""
        return {
            "op": "configure",
            "host": self.host,
            "port": self.port,
            "hold": self.hold,
            "max_held": self.max_held,
        }


@dataclass(frozen=True, slots=True)
class Seat:
    """Where the files of a worker's front lie."""

    worker: str
    folder: Path

    @property
    def socket(self) -> Path:
        """The control socket."""
        return self.folder / f"front-{self.worker}.sock"

    @property
    def lock(self) -> Path:
        """Held by the living front."""
        return self.folder / f"front-{self.worker}.sock.lock"

    @property
    def log(self) -> Path:
        """What the front writes to stderr: normally nothing."""
        return self.folder / f"front-{self.worker}.log"


def command(seat: Seat, settings: Settings) -> list[str]:
    """The argv of a front. ``-P``: modules come from the installation, never from the working folder."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    options = {
        "--worker": seat.worker,
        "--listen": f"{host}:{settings.port}",
        "--socket": str(seat.socket),
        "--hold": str(settings.hold),
        "--max-held": str(settings.max_held),
        "--ready-fd": str(_READY_FD),
    }
    return [sys.executable, "-P", "-m", "genesisd.front.main", *(word for pair in options.items() for word in pair)]


async def start(seat: Seat, settings: Settings) -> None:
    """Start a front and wait until it serves. Raises RefusedError (its own words) or UnavailableError."""
    seat.folder.mkdir(parents=True, exist_ok=True)
    reading, writing = os.pipe()
    try:
        pid = _spawn(seat, settings, writing)
    except BaseException:
        os.close(reading)
        raise
    finally:
        os.close(writing)
    try:
        async with asyncio.timeout(READY_WITHIN):
            line = await _first_line(reading)
    except asyncio.CancelledError:
        await _end_child(pid, 0.0)
        raise
    except TimeoutError:
        await _end_child(pid, 0.0)
        raise UnavailableError(f"the front of {seat.worker} was not ready within {READY_WITHIN:g} s", pid=pid) from None
    await _judge(seat, pid, line)


def _spawn(seat: Seat, settings: Settings, writing: int) -> int:
    log = os.open(seat.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND | os.O_CLOEXEC, 0o600)
    # Above the range of the descriptors that are being replaced below.
    ready = fcntl.fcntl(writing, fcntl.F_DUPFD_CLOEXEC, 10)
    argv = command(seat, settings)
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                (os.POSIX_SPAWN_DUP2, ready, _READY_FD),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGHUP],
        )
    finally:
        os.close(log)
        os.close(ready)


async def _first_line(fd: int) -> bytes:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    pipe = os.fdopen(fd, "rb", buffering=0)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    try:
        return await reader.readline()
    finally:
        transport.close()


async def _judge(seat: Seat, pid: int, line: bytes) -> None:
    if not line:
        await _end_child(pid, 5.0)
        raise UnavailableError(f"the front of {seat.worker} died at its start: {_last_words(seat)}", log=str(seat.log))
    said = decode(line)
    if not said.get("ready"):
        await _end_child(pid, 5.0)
        raise RefusedError(said)


def _last_words(seat: Seat) -> str:
    lines = seat.log.read_text(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing"


async def _end_child(pid: int, within: float) -> None:
    identity = process_ref(pid)
    if identity is not None:
        await await_end(identity, within)


def lock_holder(seat: Seat) -> ProcessRef | None:
    """The process that holds the worker's lock; None if nobody does. Raises GenesisError if it cannot be told who."""
    try:
        fd = os.open(seat.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        identity = _named(seat, os.read(fd, 32))
    else:
        return None
    finally:
        os.close(fd)
    if identity is None:
        raise GenesisError(
            f"a process holds {seat.lock} and does not say who it is",
            hint="find it with 'fuser' and end it",
            path=str(seat.lock),
        )
    return identity


def _named(seat: Seat, text: bytes) -> ProcessRef | None:
    """The pid in the file is believed only if that process really has the file open."""
    identity = process_ref(int(text)) if text.strip().isdigit() else None
    if identity is None:
        return None
    want = seat.lock.stat()
    for fd in Path(f"/proc/{identity.pid}/fd").iterdir():
        try:
            have = fd.stat()
        except OSError:
            continue
        if (have.st_dev, have.st_ino) == (want.st_dev, want.st_ino):
            return identity
    return None
