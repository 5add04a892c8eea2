"""The public socket, and who holds a port that is taken."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

from genesisd.errors import GenesisError

_LISTEN = "0A"


class ListenError(GenesisError):
    """The public address cannot be listened on; ``fields`` holds address and, where it can be seen, pid."""

    code = "listen"


def bind(host: str, port: int) -> socket.socket:
    """A listening socket. Raises ListenError."""
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0][0]
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except OSError as error:
        raise ListenError(f"cannot listen on {where}: {error.strerror}", address=where) from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen(4096)
    except OSError as error:
        sock.close()
        raise _explained(where, port, error) from None
    return sock


def _explained(where: str, port: int, error: OSError) -> ListenError:
    if error.errno != errno.EADDRINUSE:
        return ListenError(f"cannot listen on {where}: {error.strerror}", address=where)
    pid = holder(port)
    who = f"process {pid} ({_title(pid)})" if pid else "another process (of another user, or in another namespace)"
    return ListenError(
        f"cannot listen on {where}: {who} holds the port",
        hint="stop that process or set another 'listen' for the worker",
        address=where,
        pid=pid,
    )


def holder(port: int) -> int | None:
    """Pid of a process that listens on the TCP port, or None where it cannot be seen."""
    inodes = {f"socket:[{inode}]" for table in ("tcp", "tcp6") for inode in _listeners(table, port)}
    if not inodes:
        return None
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) in inodes for fd in (proc / "fd").iterdir()):
                return int(proc.name)
        except OSError:
            continue
    return None


def _listeners(table: str, port: int) -> list[str]:
    try:
        rows = [line.split() for line in Path("/proc/net", table).read_text().splitlines()[1:]]
    except OSError:
        return []
    return [row[9] for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port]


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()[:80]
    except OSError:
        return "gone meanwhile"
