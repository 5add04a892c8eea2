"""Who is on the other end of a Unix socket, and whether they may give orders.

The kernel noted uid, gid and groups when the peer connected, so nothing that the peer does later changes the
answer. Its pid is looked up in /proc only where the kernel does not tell the groups, since that races with exec
and with pid reuse.
"""

from __future__ import annotations

import array
import os
import socket
import struct
from pathlib import Path

from genesisd.control.ports import Peer
from genesisd.errors import PermissionDeniedError

_SO_PEERGROUPS = 59
_UCRED = struct.Struct("3i")
_NO_ID = 0xFFFFFFFF
_ROOM = 1024
"""Bytes for the list of groups: the most that getsockopt takes."""


def peer_of(connection: socket.socket) -> Peer:
    """Pid, uid and gid of the process that connected."""
    pid, uid, gid = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return Peer(pid, uid & _NO_ID, gid & _NO_ID)


def groups_of(connection: socket.socket) -> frozenset[int]:
    """Supplementary groups of the process that connected; empty where nobody can say."""
    try:
        return frozenset(array.array("I", connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _ROOM)))
    except OSError:  # an old kernel, or more groups than Python lets us fetch
        return _groups_of_process(peer_of(connection).pid)


def _groups_of_process(pid: int) -> frozenset[int]:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return frozenset()
    return frozenset(int(word) for line in lines if line.startswith("Groups:") for word in line.split()[1:])


def check_peer(connection: socket.socket, group: int | None) -> Peer:
    """The peer, if it is root, this process's own user, or a member of ``group``.

    Raises:
        PermissionDeniedError: it is none of them.
    """
    peer = peer_of(connection)
    if peer.uid in (0, os.geteuid()):
        return peer
    if group is not None and (peer.gid == group or group in groups_of(connection)):
        return peer
    hint = "run as root or as the daemon's user" if group is None else f"join the group with id {group}"
    raise PermissionDeniedError(f"user id {peer.uid} may not control this daemon", hint=hint, uid=peer.uid)
