"""Makes the control socket: never visible with a wrong mode or group, never stolen from a live daemon."""

from __future__ import annotations

import grp
import os
import socket
import stat
from contextlib import suppress
from pathlib import Path

from aiohttp import web

from genesisd.errors import ConfigError, ConflictError

MODE = 0o660
QUEUE = 128
"""Connections that may wait to be accepted."""
_LONGEST = 107
"""Bytes of a path that fit into sockaddr_un."""


def group_id(name: str) -> int:
    """Id of a group given by name or number; raises ConfigError when there is none."""
    if name.isdecimal():
        return int(name)
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise ConfigError(
            f"the control socket's group {name!r} does not exist", hint=f"create it: groupadd --system {name}"
        ) from None


def listen(path: Path, group: int | None = None) -> socket.socket:
    """A listening socket at ``path``, mode 0660, owned by ``group`` where one is given.

    It is made under another name and renamed into place, so that a client sees either the old or the finished one.

    Raises:
        ConflictError: another daemon answers there, or something that is no socket is in the way.
        ConfigError: the path is too long for a Unix socket, or cannot be made.
    """
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    if len(os.fsencode(fresh)) > _LONGEST:
        raise ConfigError(f"{path} is too long for a Unix socket", hint="use a shorter control.socket", path=str(path))
    _ensure_free(path)
    try:
        return _listen_at(fresh, path, group)
    except OSError as problem:
        raise ConfigError(
            f"cannot make the control socket {path}: {problem.strerror}",
            hint="the folder must exist and be writable, and this user must be in the socket's group",
            path=str(path),
        ) from problem
    finally:
        with suppress(OSError):  # of a read-only folder: that the socket could not be made is the better news
            fresh.unlink(missing_ok=True)


async def serve(runner: web.AppRunner, listener: socket.socket) -> web.BaseSite:
    """Serve ``runner`` there, until the site that this gives is stopped.

    asyncio tries ``backlog`` accepts at a time, and when descriptors are short each of them fails, is logged with a
    traceback and begins a retry of its own, which fails as often: thousands a second. So it gets one.
    """
    site = web.SockSite(runner, listener, backlog=1)
    await site.start()
    listener.listen(QUEUE)  # which the site took for the length of the queue as well
    return site


def _listen_at(fresh: Path, path: Path, group: int | None) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        fresh.unlink(missing_ok=True)
        _bind(listener, fresh)
        if group is not None:
            os.chown(fresh, -1, group)
        listener.listen(QUEUE)
        fresh.rename(path)
    except OSError:
        listener.close()
        raise
    return listener


def _bind(listener: socket.socket, path: Path) -> None:
    before = os.umask(0o777 & ~MODE)
    try:
        listener.bind(str(path))
    finally:
        os.umask(before)


def _ensure_free(path: Path) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    except OSError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ConflictError(
            f"{path} exists and is no socket", hint="move it away or set another control.socket", path=str(path)
        )
    if _answers(path):
        raise ConflictError(
            f"another daemon already listens on {path}",
            hint="stop it first (systemctl stop genesisd), or set another control.socket",
            path=str(path),
        )


def _answers(path: Path) -> bool:
    """A socket file that nobody listens on refuses at once; a live but overwhelmed one says EAGAIN."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
        return True


def inode(path: Path) -> int | None:
    """Which file has that name; None: no file has."""
    with suppress(OSError):
        return path.lstat().st_ino
    return None


def remove(path: Path, own: int) -> None:
    """Remove the socket file if it is still the one with the inode ``own``: a successor may have replaced it."""
    with suppress(OSError):
        if inode(path) == own:
            path.unlink()
